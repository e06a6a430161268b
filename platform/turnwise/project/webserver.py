"""A web server of one's own on this database, for a command that needs one for a while."""

import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from turnwise.live.apart import environment, python
from turnwise.project.processes import StartError, spawn, stop

START_SECONDS = 120.0


@contextmanager
def served() -> Iterator[str]:
    """The address of a server that runs meanwhile.

    Raises:
        StartError: it did not start; what it said stands above.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        command = python(
            "-m", "turnwise.project.keeper", "--once", "turnwise.project.web", "--fd", str(listener.fileno())
        )
        process = spawn(command, environment=environment(), pass_fds=[listener.fileno()])
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _answers(f"{address}healthz"):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise StartError("The web server for the rehearsal did not start; the reason is above.")
            yield address
        finally:
            stop(process)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        time.sleep(0.1)
        return False
