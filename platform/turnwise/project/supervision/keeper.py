"""Keep a program of ours running: it is loaded once, and what works is a copy of the process that loaded it.

    python -m turnwise.project.supervision.keeper NAME MODULE ARGUMENT…
    python -m turnwise.project.supervision.keeper --once MODULE ARGUMENT…

Loading takes longer than all the rest of a start, and people wait for it. So when the copy that works dies,
of its bots or for want of memory, the next one needs a fraction of a second. MODULE has `load(arguments)`,
which begins no thread and connects to nothing, and returns what is called when no older copy works any more:
it takes what only one can have, and returns what each copy does. With --once it is done here.

On SIGUSR2 the copy finishes what is under way and ends, and the keeper with it (`live/sockets/draining.py`).
If the keeper itself is killed, its copy works on while the next keeper loads (`child_programs`).
"""

import gc
import importlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

from turnwise.live.subprocesses import paused_garbage_collection
from turnwise.project.supervision import child_programs
from turnwise.project.supervision.child_programs import Watch
from turnwise.project.supervision.processes import DRAIN, ENDING, Child, Fork, spawn, stop

GLANCE_SECONDS = 0.05

Work = Callable[[], int]


class Copies:
    """The copy that works; `start` makes the next one."""

    process: Child | None = None

    def __init__(self, name: str, work: Work, orphaned: Callable[..., None] | None) -> None:
        """Take what a copy does, and what it does when this process is gone."""
        self.name = name
        self._work = work
        self._orphaned = orphaned

    def start(self) -> None:
        self.process = Fork(self._work, self._orphaned)

    def stop(self) -> None:
        stop(self.process)


class Restarted:
    """Keeper that starts a new process each time, where forked copies are not safe (all but Linux)."""

    process: Child | None = None

    def __init__(self, name: str, module: str, arguments: Sequence[str]) -> None:
        """Take what is loaded each time."""
        self.name = name
        self._command = [
            sys.executable,
            "-m",
            "turnwise.project.supervision.keeper",
            "--once",
            module,
            *arguments,
        ]

    def start(self) -> None:
        self.process = spawn(self._command)

    def stop(self) -> None:
        stop(self.process)


def main() -> int:
    name, module, *arguments = sys.argv[1:]
    if name == "--once":
        return _loaded(module, arguments)()()
    ending, draining = threading.Event(), threading.Event()
    for number in ENDING:
        signal.signal(number, lambda *_: ending.set())
    signal.signal(DRAIN, lambda *_: draining.set())
    service = _service(name, module, arguments)
    watch = Watch(service, lambda text: print(text, file=sys.stderr, flush=True))
    service.start()
    while not ending.wait(GLANCE_SECONDS) and not draining.is_set():
        watch.glance(time.monotonic())
    if draining.is_set():
        _drain(service.process, ending)
    service.stop()
    return (service.process and service.process.returncode) or 0


def _drain(process: Child | None, ending: threading.Event) -> None:
    """Have what works finish what is under way; it ends by itself then."""
    if process:
        process.send_signal(DRAIN)
    while process and process.poll() is None and not ending.wait(GLANCE_SECONDS):
        pass


def _service(name: str, module: str, arguments: Sequence[str]) -> Copies | Restarted:
    if not sys.platform.startswith("linux"):
        return Restarted(name, module, arguments)
    mark, heir = child_programs.take_mark(), os.getppid()
    begin = _loaded(module, arguments)
    if mark:
        child_programs.end_orphan(mark)
    work = begin()

    def in_copy() -> int:
        gc.enable()
        return work()

    gc.disable()  # a search for garbage would touch, and so copy, all that parent and child share
    gc.freeze()
    return Copies(name, in_copy, child_programs.ends_unless_adopted(heir) if mark else None)


def _loaded(module: str, arguments: Sequence[str]) -> Callable[[], Work]:
    with paused_garbage_collection():
        begin: Callable[[], Work] = importlib.import_module(module).load(arguments)
    return begin


if __name__ == "__main__":
    sys.exit(main())
