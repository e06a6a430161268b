"""What tests of `project.keeper` keep running: it says when it is loaded, and when a copy works and ends.

It does not load as long as the file is there that its argument names.
"""

import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path


def load(arguments: Sequence[str]) -> Callable[[], Callable[[], int]]:
    while any(Path(each).exists() for each in arguments):
        time.sleep(0.02)
    print("loaded", *arguments, flush=True)
    return partial(_begin, arguments)


def _begin(arguments: Sequence[str]) -> Callable[[], int]:
    print("nobody else works", flush=True)
    return partial(_work, arguments)


def _work(arguments: Sequence[str]) -> int:
    signal.signal(signal.SIGTERM, _end)
    print("working", flush=True)
    while arguments != ["briefly"]:
        signal.pause()
    return 3


def _end(*_: object) -> None:
    print("ends", flush=True)
    sys.exit(4)
