"""Keeps a keeper with these arguments running and adopts what it leaves behind, as `manage.py serve` does."""

import os
import signal
import sys
import threading
import time

from turnwise.project.supervision import child_programs
from turnwise.project.supervision.child_programs import Program, Watch


def main() -> None:
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ending.set())
    child_programs.adopt_orphans()
    keeper = Program(
        "The keeper",
        ["-m", "turnwise.project.supervision.keeper", *sys.argv[1:]],
        child_programs.with_mark(os.environ),
    )
    watch = Watch(keeper, lambda text: print(text, flush=True))
    keeper.start()
    while not ending.wait(0.05):
        watch.glance(time.monotonic())
        child_programs.reap_orphans({keeper.process.pid} if keeper.process else set())
    keeper.stop()


if __name__ == "__main__":
    main()
