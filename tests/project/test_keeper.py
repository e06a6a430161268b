"""A program that is loaded once, and copies of it that die."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.project.conftest import ROOT, copy_of, gone

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies are made on Linux only")
Keep = Callable[..., "Kept"]


class Kept:
    """A real `turnwise.project.supervision.keeper` in a process of its own."""

    def __init__(self, output: Path, module: str, *arguments: str) -> None:
        self.output = output
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
            stdout=output.open("w"),
            stderr=subprocess.STDOUT,
        )

    def said(self) -> list[str]:
        return self.output.read_text().splitlines()

    def wait_until_said(self, line: str, times: int = 1) -> None:
        deadline = time.monotonic() + 90
        while self.said().count(line) < times:
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.02)

    def copy(self) -> psutil.Process:
        return copy_of(psutil.Process(self.process.pid))

    def only_child(self) -> psutil.Process:
        """Once there is one alone, and nothing dead left in the table."""
        deadline = time.monotonic() + 90
        while len(children := psutil.Process(self.process.pid).children()) != 1:
            assert time.monotonic() < deadline, children
            time.sleep(0.02)
        return children[0]


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Keep]:
    started: list[Kept] = []

    def start(*arguments: str, module: str = "turnwise.project.supervision.keeper") -> Kept:
        started.append(Kept(tmp_path / f"{len(started)}.txt", module, *arguments))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@linux
def test_a_copy_that_dies_is_followed_by_one_that_needs_no_loading(keep: Keep) -> None:
    kept = keep("The thing", "tests.project.kept", "a", "b")
    kept.wait_until_said("working")
    first = kept.copy()

    first.kill()
    kept.wait_until_said("working", times=2)

    assert kept.said() == [
        "loaded a b",
        "nobody else works",
        "working",
        "The thing ended (signal SIGKILL). Starting it again now.",
        "working",
    ]
    assert kept.copy() != first


def test_it_ends_with_its_copy_when_it_is_told_to(keep: Keep) -> None:
    kept = keep("The thing", "tests.project.kept")
    kept.wait_until_said("working")
    copy = kept.copy()

    kept.process.send_signal(signal.SIGTERM)

    assert kept.process.wait(60) != 0  # as its copy, which the signal ended
    assert not copy.is_running()


@linux
def test_draining_ends_the_copy_by_its_signal_and_waits_for_the_keeper(keep: Keep, tmp_path: Path) -> None:
    word = str(tmp_path / "no file")
    kept = keep("The thing", "tests.project.kept", word)
    kept.wait_until_said("working")
    other = keep("Another thing", "tests.project.kept")
    other.wait_until_said("working")

    assert _drain(word).returncode == 0
    again = _drain(word)

    assert kept.process.wait(0) == 256 - signal.SIGUSR2  # its copy does not handle it
    assert kept.said().count("working") == 1  # nothing was started in its place
    assert other.process.poll() is None
    assert (again.returncode, again.stderr) == (1, f"No keeper runs {word}.\n")


def _drain(word: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "turnwise.project.supervision.drain", "keeper", word],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@linux
def test_a_copy_does_not_outlive_what_keeps_it(
    keep: Keep, wait_until_gone: Callable[[psutil.Process], bool]
) -> None:
    kept = keep("The thing", "tests.project.kept")
    kept.wait_until_said("working")
    copy = kept.copy()

    kept.process.kill()

    assert wait_until_gone(copy)


@linux
def test_a_copy_whose_keeper_is_killed_works_on_until_the_next_one_has_loaded(keep: Keep) -> None:
    adopting = keep("The thing", "tests.project.kept", module="tests.project.adopting")
    adopting.wait_until_said("working")
    keeper = adopting.only_child()
    first = copy_of(keeper)

    keeper.kill()
    adopting.wait_until_said("working", times=2)

    loading = ["loaded", "nobody else works", "working"]
    assert (
        adopting.said()
        == [
            *loading,
            "The keeper ended (signal SIGKILL). Starting it again now.",
            loading[0],
            "ends",  # the first copy, no sooner
            *loading[1:],
        ]
    )
    assert copy_of(adopting.only_child()) != first


@linux
def test_a_copy_that_was_adopted_does_not_outlive_who_adopted_it(
    keep: Keep, tmp_path: Path, wait_until_gone: Callable[[psutil.Process], bool]
) -> None:
    hold = tmp_path / "hold"
    adopting = keep("The thing", "tests.project.kept", str(hold), module="tests.project.adopting")
    adopting.wait_until_said("working")
    keeper = adopting.only_child()
    copy = copy_of(keeper)
    hold.touch()  # the next keeper does not load

    keeper.kill()
    keeper.wait()
    assert copy.ppid() == adopting.process.pid
    assert not gone(copy)
    adopting.process.kill()

    assert wait_until_gone(copy)
    hold.unlink()


def test_one_that_keeps_ending_is_started_after_growing_pauses(keep: Keep) -> None:
    kept = keep("The thing", "tests.project.kept", "briefly")

    kept.wait_until_said("The thing ended (code 3). Starting it again in 1 s.")

    assert kept.said().count("working") == 2


def test_done_once_it_is_no_copy(keep: Keep) -> None:
    kept = keep("--once", "tests.project.kept", "briefly")

    assert kept.process.wait(60) == 3
    assert kept.said() == ["loaded briefly", "nobody else works", "working"]


@linux
def test_what_is_kept_running_begins_no_thread_while_it_loads() -> None:
    """Of a process with threads, a copy may stop for ever at a lock that one of them held."""
    code = (
        "import os; from turnwise.project import web_server; from turnwise.bots.hosting import host_program;"
        " web_server.load(['--port', '0'])(); host_program.load([])();"
        " from django.db import connection; print(len(os.listdir('/proc/self/task')), connection.connection)"
    )

    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "1 None\n"
