"""The real server as a process of its own, on the test database."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings

from tests.conftest import HASH_ITERATIONS
from turnwise.project.supervision.processes import spawn

SERVER_START_SECONDS = 60.0

# The server checks passwords with as few iterations as the tests that set them.
SERVE = f"""
from django.contrib.auth.hashers import PBKDF2PasswordHasher
PBKDF2PasswordHasher.iterations = {HASH_ITERATIONS}
from uvicorn import main
main()
"""


class Server:
    """The real server as a process of its own, on the test database."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.port = _free_port()  # the same one after a restart
        self.process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        # Bots are loaded when they are first asked: a host that looks after all of them every two seconds
        # would get in the way of emptying the tables between tests.
        options = ["--port", str(self.port), "--lifespan", "off", "--ws", "websockets-sansio"]
        command = [sys.executable, "-c", SERVE, "turnwise.project.asgi:application", *options]
        database = urlsplit(os.environ["DATABASE_URL"])
        name = settings.DATABASES["default"]["NAME"]  # the test database, by now
        environment = os.environ | {"DATABASE_URL": urlunsplit(database._replace(path=f"/{name}"))}
        with self.log.open("wb") as output:
            # It ends with the tests, also when they are interrupted.
            self.process = spawn(command, environment=environment, output=output, errors=output)
        self._wait_until_it_listens()

    def _wait_until_it_listens(self) -> None:
        assert self.process
        deadline = time.monotonic() + SERVER_START_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"The server did not start. It said:\n{self.log.read_text()}")

    def end(self, *, kill: bool = False) -> None:
        assert self.process
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
