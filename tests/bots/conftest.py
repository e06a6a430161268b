import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.db import connection

from tests.conftest import PATIENCE
from turnwise.bots.hosting import resident_bots
from turnwise.bots.hosting.presence import DIRECTORY
from turnwise.bots.models import BotCopy

ROOT = Path(__file__).parents[2]


class HostProcess:
    """A real `manage.py hostbots` in a process of its own, on the test's database."""

    def __init__(self, *names: str, once: bool = True, **environment: str) -> None:
        self.output = tempfile.NamedTemporaryFile("w+", suffix=".txt")  # noqa: SIM115
        address = urlsplit(os.environ["DATABASE_URL"])
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "hostbots", *(["--once"] if once else []), *names],
            env=os.environ
            | {"DATABASE_URL": urlunsplit(address._replace(path=f"/{connection.settings_dict['NAME']}"))}
            | environment,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )

    def said(self) -> str:
        return Path(self.output.name).read_text()

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


StartHost = Callable[..., HostProcess]


@pytest.fixture
def start_host(transactional_db: None) -> Iterator[StartHost]:
    """Start host processes and wait until they say that their bots are ready."""
    hosts: list[HostProcess] = []

    def start(*names: str, copies: int = 1, once: bool = True, **environment: str) -> HostProcess:
        process = HostProcess(*names, once=once, **environment)
        hosts.append(process)
        deadline = time.monotonic() + 3 * PATIENCE  # a process that loads its libraries anew
        while BotCopy.objects.filter(state="ready").count() < copies:
            assert process.process.poll() is None, process.said()
            assert time.monotonic() < deadline, process.said()
            time.sleep(0.05)
        DIRECTORY.read()
        return process

    yield start
    for process in hosts:
        if process.process.poll() is None:
            process.end(signal.SIGKILL)


@pytest.fixture(autouse=True)
def _only_its_own_bots_are_hosted() -> Iterator[None]:
    resident_bots.close()  # of tests elsewhere, whose databases are gone: announcing them would fail
    yield
    resident_bots.close()
    DIRECTORY._copies.clear()  # of a database that is emptied now
