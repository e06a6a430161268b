"""Supervised child programs: restarting them when they die, and adopting the orphans of a killed keeper.

Loading takes seconds of processor time, and nobody should wait for it because a process died that only keeps
another running. So a process that starts keepers adopts their orphans (`adopt_orphans`) and marks each of its
programs (`with_mark`). The next keeper of that program finds the orphan by its mark and ends it
(`end_orphan`). Linux only, as copies are.

The supervised children, and what happens when one dies.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from uuid import uuid4

import psutil

from turnwise.project.supervision.processes import Child, StartError, end_at_once, spawn, stop

PR_SET_CHILD_SUBREAPER = 36
NAME = "TURNWISE_ADOPTED_AS"


def adopt_orphans() -> None:
    """Become the parent of orphans that our children leave behind (Linux only)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans(ours: Collection[int]) -> None:
    """Forget those that were adopted and have ended; for the others, `ours`, somebody else waits."""
    while sys.platform.startswith("linux"):
        try:
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if dead is None or dead.si_pid in ours:
            return
        os.waitpid(dead.si_pid, 0)


def with_mark(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program of whom we adopt what it leaves: the same each time it is started."""
    return {**environment, NAME: uuid4().hex}


def take_mark() -> str:
    """Take the mark from the environment, so that children do not inherit it; "" if there is none."""
    return os.environ.pop(NAME, "")


def end_orphan(mark: str) -> None:
    """End the copy that an earlier keeper with this mark left behind."""
    left = [each for each in psutil.Process(os.getppid()).children() if _has(each, mark)]
    end_at_once(left)


def _has(process: psutil.Process, mark: str) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(NAME) == mark
    except psutil.Error:
        return False


def ends_unless_adopted(heir: int) -> Callable[..., None]:
    """Signal handler of a copy whose parent died: it ends unless the process `heir` has adopted it."""

    def parent_died(*_: object) -> None:
        if os.getppid() != heir:
            os.kill(os.getpid(), signal.SIGTERM)

    return parent_died


SECONDS_UNTIL_WELL = 60.0
LONGEST_PAUSE = 30.0
BEGINNING_SECONDS = 5.0


class Service(Protocol):
    """A child that can be started again after it died."""

    name: str

    @property
    def process(self) -> Child | None: ...

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Program:
    """A supervised Python program."""

    def __init__(
        self, name: str, arguments: Sequence[str], environment: dict[str, str], fd: int | None = None
    ):
        self.name = name
        self.command = [sys.executable, *arguments]
        self.environment = environment
        self.pass_fds = () if fd is None else (fd,)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.process = spawn(self.command, environment=self.environment, pass_fds=self.pass_fds)

    def stop(self) -> None:
        stop(self.process)


@dataclass
class Watch:
    """Watch that restarts a service when it has died: immediately at first, then with exponential backoff."""

    service: Service
    say: Callable[[str], None]
    started_at: float = field(default_factory=time.monotonic)
    deaths: int = 0
    due_at: float | None = None

    def is_beginning(self, now: float) -> bool:
        """True if the service may still be loading, so that other work should wait."""
        return not self._is_alive() or now - self.started_at < BEGINNING_SECONDS

    def _is_alive(self) -> bool:
        process = self.service.process
        return process is not None and process.poll() is None

    def glance(self, now: float) -> bool:
        """Restart the service if it died and its pause is over; True if it was restarted."""
        if self._is_alive():
            return False
        if self.due_at is None:
            if now - self.started_at > SECONDS_UNTIL_WELL:
                self.deaths = 0
            pause = min(LONGEST_PAUSE, 2.0 ** (self.deaths - 1)) if self.deaths else 0.0
            self.deaths += 1
            self.due_at = now + pause
            code = self.service.process.returncode if self.service.process else None
            when = f"in {pause:.0f} s" if pause else "now"
            self.say(f"{self.service.name} ended ({_manner(code)}). Starting it again {when}.")
        if now < self.due_at:
            return False
        self.due_at, self.started_at = None, now
        try:
            self.service.start()
        except StartError as error:
            self.say(str(error))
        return True


def _manner(code: int | None) -> str:
    if code is None:
        return "not started"
    return f"code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
