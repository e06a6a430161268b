"""uWSGI for the pages; its address refuses connections until all is loaded.

    python -m turnwise.project.uwsgi_pages --host HOST --port PORT ARGUMENT…

The arguments are uWSGI's. It takes the address as from systemd, and `turnwise.project.wsgi` lets people in.
People refused meanwhile get their page from the sockets' server (deploy/nginx.conf.template).
"""

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import NoReturn

FIRST_FD = 3  # of systemd's protocol
BACKLOG = 512
NAME = "TURNWISE_PAGES_FD"


def main() -> NoReturn:
    parser = argparse.ArgumentParser(prog="turnwise.project.uwsgi_pages")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, required=True, help="port to listen on")
    options, arguments = parser.parse_known_args()
    family = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0][0]
    address = socket.socket(family)
    address.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    address.bind((options.host, options.port))
    os.dup2(address.fileno(), FIRST_FD)
    os.set_inheritable(FIRST_FD, True)
    os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", NAME: str(FIRST_FD)}
    uwsgi = Path(sys.executable).with_name("uwsgi")
    os.execv(uwsgi, [str(uwsgi), *arguments])


def let_in() -> None:
    """Listen at the address that `main` took, if it did."""
    if number := os.environ.get(NAME):
        socket.socket(fileno=os.dup(int(number))).listen(BACKLOG)


if __name__ == "__main__":
    main()
