import asyncio
import logging
import os
import signal
from contextlib import suppress
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, LifespanScope, WebSocketScope
from django.urls import re_path

from turnwise.bots.hosting.host_process import Hosting
from turnwise.crowd.urls import websocket_urlpatterns as of_previews
from turnwise.live import database
from turnwise.live.metrics import publishing
from turnwise.live.sockets import batches, draining, layer
from turnwise.live.subprocesses import tune_garbage_collection
from turnwise.live.traces import spans
from turnwise.operating.urls import websocket_urlpatterns as of_operators
from turnwise.project.asgi_middleware import turn_away
from turnwise.project.supervision.processes import DRAIN
from turnwise.project.system import alarms
from turnwise.tasks.urls import websocket_urlpatterns as of_tasks

log = logging.getLogger(__name__)


class Lifespan:
    """Lifespan that serves sockets and pages immediately, and loads the bots in the background."""

    async def __call__(
        self, scope: LifespanScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        layer.process_layer().here()  # begins the line to other processes, which /readyz tells of
        publishing.start()
        spans.start("sockets")
        alarms.start()
        async with Hosting() as hosting:
            tune_garbage_collection()
            on_drain(hosting)
            await receive()
        alarms.stop()
        await asyncio.to_thread(publishing.stop)
        await asyncio.to_thread(spans.stop)
        batches.close_connections()
        database.close_connections()
        await send({"type": "lifespan.shutdown.complete"})


# Longer than any bot takes for a reply.
MOST_SECONDS_TO_DRAIN = 150.0


def on_drain(hosting: Hosting) -> None:
    """When the signal to drain comes, finish what is under way, send the sockets elsewhere, and end."""

    async def drain() -> None:
        await hosting.withdraw()
        if not await draining.drain(MOST_SECONDS_TO_DRAIN):
            log.warning("Something was still under way when this server was replaced.")
        await hosting.finish(MOST_SECONDS_TO_DRAIN)
        os.kill(os.getpid(), signal.SIGTERM)

    loop, begun = asyncio.get_running_loop(), list[asyncio.Task[None]]()

    def begin() -> None:
        if not begun:
            begun.append(loop.create_task(drain()))

    with suppress(RuntimeError, ValueError):  # not in the main thread, as in tests: nobody signals there
        loop.add_signal_handler(DRAIN, begin)


NOWHERE = "There is nothing to connect to at this address. Open the study link again.\n"


async def nowhere(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """For every other address: without it Channels raises, which fills the log with tracebacks."""
    await turn_away(scope, receive, send, status=404, reason="nowhere", say=NOWHERE)


# Django's `re_path` is typed for views; Channels' router takes its result for consumers too.
elsewhere: Any = nowhere
websocket_urlpatterns: Any = [*of_tasks, *of_operators, *of_previews, re_path("", elsewhere)]
