"""What the tests of `project.keeper` keep running: it says when it is loaded and when a copy works."""

import signal
from collections.abc import Callable, Sequence
from functools import partial


def load(arguments: Sequence[str]) -> Callable[[], int]:
    print("loaded", *arguments, flush=True)
    return partial(_work, arguments)


def _work(arguments: Sequence[str]) -> int:
    print("working", flush=True)
    if arguments == ["briefly"]:
        return 3
    signal.sigwait({signal.SIGUSR1})
    return 0
