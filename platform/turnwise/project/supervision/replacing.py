"""Replacing the programs of a running `deploy/native`: asking for it, and telling what came of it.

The one that asks is a process of its own. It finds the running one by its lock, signals it, and waits for a
file with the outcome.
"""

import json
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil

from turnwise.project.supervision.processes import StartError

REPLACE = signal.SIGHUP
MOST_SECONDS = 900.0
GLANCE_SECONDS = 0.2
_OUTCOME = "replacement.json"


def ask_for_replacement(var: Path) -> str:
    """Have the stack that runs on this folder replace its programs; return its sentence about it.

    Raises:
        StartError: nothing runs there, it ended meanwhile, or it went on with the old programs; says why.
    """
    pid = _running_on(var)
    (var / _OUTCOME).unlink(missing_ok=True)
    os.kill(pid, REPLACE)
    until = time.monotonic() + MOST_SECONDS
    while time.monotonic() < until:
        with suppress(FileNotFoundError):
            outcome = json.loads((var / _OUTCOME).read_text())
            if outcome["problem"]:
                raise StartError(outcome["problem"])
            return str(outcome["said"])
        if not psutil.pid_exists(pid):
            raise StartError(f"deploy/native (process {pid}) ended meanwhile. Start it again.")
        time.sleep(GLANCE_SECONDS)
    raise StartError(f"deploy/native has not said within {MOST_SECONDS:.0f} s that it is done. See its log.")


def note_outcome(var: Path, *, said: str = "", problem: str = "") -> None:
    """Tell the one that asked what came of it."""
    new = var / f".{_OUTCOME}"
    new.write_text(json.dumps({"said": said, "problem": problem}))
    new.rename(var / _OUTCOME)


def _running_on(var: Path) -> int:
    try:
        pid = int(json.loads((var / "lock").read_text())["pid"])
        if "native" in " ".join(psutil.Process(pid).cmdline()):
            return pid
    except (OSError, ValueError, KeyError, TypeError, psutil.Error):
        pass
    raise StartError(
        f"No deploy/native runs on {var}, so there is nothing to replace. Start it without --replace."
    )


def answers_ready(port: int) -> bool:
    """True if the server of HTTP at this port says that all it needs is there."""
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (HTTPError, OSError, HTTPException):
        return False


def take_no_more(workers: Iterable[psutil.Process]) -> bool:
    """True if these processes of nginx accept no connections any more, and only finish what they have."""
    return all(not _runs(each) or "shutting down" in _title(each) for each in workers)


def have_ended(workers: Iterable[psutil.Process]) -> bool:
    return not any(map(_runs, workers))


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "shutting down"
