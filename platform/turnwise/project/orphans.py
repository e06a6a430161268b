"""What a killed keeper leaves behind works on, until the next keeper has loaded and makes a new copy.

Loading takes seconds of processor time, and nobody should wait for it because a process died that only keeps
another running. So whoever starts keepers adopts what they leave (`adopt`), and tells each program of its own
who it is (`marked`); the next keeper of that program finds the orphan by it and ends it (`end_those_of`).
Linux only, as copies are.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Collection, Mapping
from uuid import uuid4

import psutil

from turnwise.project.processes import end_at_once

PR_SET_CHILD_SUBREAPER = 36
NAME = "TURNWISE_ADOPTED_AS"


def adopt() -> None:
    """From now on, what children of ours leave behind when they die becomes ours."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def bury(ours: Collection[int]) -> None:
    """Forget those that were adopted and have ended; for the others, `ours`, somebody else waits."""
    while sys.platform.startswith("linux"):
        try:
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if dead is None or dead.si_pid in ours:
            return
        os.waitpid(dead.si_pid, 0)


def marked(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program of whom we adopt what it leaves: the same each time it is started."""
    return {**environment, NAME: uuid4().hex}


def own_mark() -> str:
    """Ours, if whoever started us adopts what we leave. It is not handed on to programs that we start."""
    return os.environ.pop(NAME, "")


def end_those_of(mark: str) -> None:
    """End the copy that an earlier keeper with this mark left behind."""
    left = [each for each in psutil.Process(os.getppid()).children() if _has(each, mark)]
    end_at_once(left)


def _has(process: psutil.Process, mark: str) -> bool:
    try:
        return process.pid != os.getpid() and process.environ().get(NAME) == mark
    except psutil.Error:
        return False


def ends_unless_adopted(heir: int) -> Callable[..., None]:
    """What a copy does when its parent is gone: it works on if this process has adopted it."""

    def parent_died(*_: object) -> None:
        if os.getppid() != heir:
            os.kill(os.getpid(), signal.SIGTERM)

    return parent_died
