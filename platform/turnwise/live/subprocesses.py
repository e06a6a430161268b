"""Subprocesses for heavy work, and garbage collection of processes that run for long.

Matplotlib and the statistics hold the interpreter, and the process that serves pages also serves workers: so
a subprocess does such work.
"""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from threading import Thread
from typing import Any


def shape_of(*kinds: type[Any]) -> str:
    """Fingerprint of dataclasses by their field names, to detect cached values of another code version."""
    return ";".join(f"{kind.__name__}:{','.join(each.name for each in fields(kind))}" for kind in kinds)


# Thresholds of Python's three garbage generations (the default of the first is 700). The older generations
# hold what closed sockets leave behind.
NEW_OBJECTS, LOOKS, LONGER_LOOKS = 10_000, 5, 5


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Pause garbage collection while modules are imported, and leave it afterwards as it was before.

    Nothing that is imported is garbage, and looking for some took a quarter of a server's start.
    """
    is_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_running:
            gc.enable()


def collect_less_often() -> None:
    """Set thresholds of garbage collection for a command, which spends most of its time on imports."""
    gc.set_threshold(50_000, 20, 20)


def tune_garbage_collection() -> None:
    """Start garbage collection with all loaded objects excluded, and collect less often.

    Collection took a third of the processor time of a busy server, and a sixth of that of a large report.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.collect()  # the next full collection depends on how much the last one found
    gc.set_threshold(NEW_OBJECTS, LOOKS, LONGER_LOOKS)


TIMEOUT_SECONDS = 60


def python_command(*arguments: str) -> list[str]:
    """Command that runs this process's Python, also inside a server that embeds it."""
    ours = Path(sys.prefix, "bin", "python")
    return [str(ours) if ours.exists() else sys.executable, *arguments]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def run_module(module: str, arguments: Sequence[str], data: Any) -> bytes:
    """Run a module as a subprocess and return its output; `data` is its input, bytes or JSON.

    Raises:
        subprocess.SubprocessError: it fails or exceeds `TIMEOUT_SECONDS`.
    """
    done = subprocess.run(
        python_command("-m", module, *arguments),
        input=data if isinstance(data, bytes) else json.dumps(data).encode(),
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_SECONDS,
        check=True,
        env=environment(),
    )
    return done.stdout


def start_detached(*arguments: str) -> "subprocess.Popen[bytes]":
    """Start Python with these arguments as a detached process that outlives this one."""
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        python_command(*arguments), stdin=nothing, stdout=nothing, env=environment(), start_new_session=True
    )
    Thread(target=process.wait, daemon=True).start()  # reaps the zombie
    return process
