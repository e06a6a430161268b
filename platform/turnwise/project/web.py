"""The web server, for sockets and pages; `turnwise.project.keeper` keeps it running.

python -m turnwise.project.keeper NAME turnwise.project.web [--fd NUMBER | --host HOST --port PORT] …
"""

import argparse
import importlib
import socket
from collections.abc import Callable, Sequence
from functools import partial

import uvicorn
from django.urls import reverse

from turnwise.project.instance import listen
from turnwise.project.protocols import BoundedWebSocket, PatientHttp

APPLICATION = "project.asgi:application"
LARGEST_FRAME_BYTES = 2**18
SECONDS_TO_END = 5


def load(arguments: Sequence[str]) -> Callable[[], Callable[[], int]]:
    """Import all that pages and sockets need."""
    options = _parsed(arguments)
    module, _, name = options.application.partition(":")
    application = getattr(importlib.import_module(module), name)
    if options.application == APPLICATION:
        reverse("crowd:thanks", args=["-"])  # all pages are imported, and found by name, before anybody asks
    config = uvicorn.Config(
        application,
        loop="uvloop",
        lifespan=options.lifespan,
        http=PatientHttp,
        ws=BoundedWebSocket,
        ws_max_size=LARGEST_FRAME_BYTES,
        ws_per_message_deflate=False,
        log_config=None,  # ours stands in the settings
        access_log=False,
        timeout_graceful_shutdown=SECONDS_TO_END,
        forwarded_allow_ips=options.forwarded_allow_ips,
    )
    config.load()
    config.get_loop_factory()
    return partial(_listening, options, config)


def _listening(options: argparse.Namespace, config: uvicorn.Config) -> Callable[[], int]:
    """Take the address: who comes between two copies waits."""
    listener = listen(options.host, options.port) if options.fd is None else socket.socket(fileno=options.fd)
    return partial(_serve, config, listener)


def _serve(config: uvicorn.Config, listener: socket.socket) -> int:
    server = uvicorn.Server(config)
    server.run(sockets=[listener])
    return 0 if server.started else 1


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="turnwise.project.web")
    parser.add_argument("--fd", type=int, help="number of a socket that listens already")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on")
    parser.add_argument("--forwarded-allow-ips", help="whose X-Forwarded-For is believed")
    parser.add_argument("--application", default=APPLICATION, help="another one, for measurements")
    parser.add_argument("--lifespan", default="on", choices=["on", "off"])
    return parser.parse_args(arguments)
