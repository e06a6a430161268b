"""uWSGI refuses until its pages are loaded, so that nginx has another server answer meanwhile."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.project.conftest import ROOT


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture
def hold(tmp_path: Path) -> Path:
    file = tmp_path / "hold"
    file.touch()
    return file


@pytest.fixture
def said(port: int, hold: Path, tmp_path: Path) -> Iterator[Path]:
    output = tmp_path / "output.txt"
    options = ["--module", "tests.project.held_wsgi", "--protocol", "http", "--master", "--die-on-term"]
    process = subprocess.Popen(
        [sys.executable, "-m", "turnwise.project.uwsgi_pages", "--port", str(port), *options],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}", "HOLD": str(hold)},
        stdout=output.open("w"), stderr=subprocess.STDOUT,
    )  # fmt: skip
    yield output
    process.terminate()
    process.wait(60)


def test_nobody_is_let_in_before_the_pages_are_loaded(port: int, hold: Path, said: Path) -> None:
    deadline = time.monotonic() + 60
    while "Python main interpreter initialized" not in said.read_text():  # what loads follows
        assert time.monotonic() < deadline, said.read_text()
        time.sleep(0.02)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))

    hold.unlink()

    assert _answer(f"http://127.0.0.1:{port}/", deadline) == b"here"


def _answer(link: str, deadline: float) -> bytes:
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(link, timeout=20) as answer:
            return bytes(answer.read())
        time.sleep(0.02)
    return b""
