"""What dataclasses look like, to tell what another version of the code kept of them. Pure.

Python's search for circles of garbage, in processes that run for long.

Work for a page that is done by a process of its own.

Matplotlib and the statistics are heavy and hold the interpreter, and the process that serves pages serves
workers, too.
"""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from threading import Thread
from typing import Any


def shape_of(*kinds: type[Any]) -> str:
    """The names of their fields, which a change of any of them changes."""
    return ";".join(f"{kind.__name__}:{','.join(each.name for each in fields(kind))}" for kind in kinds)


# Objects that may come into being before Python looks for circles among them (its own default is 700), and
# how many such looks go by before it looks among older ones, too: what closed sockets leave behind is there.
NEW_OBJECTS, LOOKS, LONGER_LOOKS = 10_000, 5, 5


def tune_garbage_collection() -> None:
    """Keep Python from searching all that was loaded, again and again, for garbage that is not there.

    It took a third of the processor time of a busy server, and every caller waited meanwhile; of a large
    report, whose charts are made of many small objects, a sixth.
    """
    gc.collect()
    gc.freeze()
    gc.collect()  # how soon all is searched again depends on how much the last search found
    gc.set_threshold(NEW_OBJECTS, LOOKS, LONGER_LOOKS)


TIMEOUT_SECONDS = 60


def python_command(*arguments: str) -> list[str]:
    """The command that runs Python as this process does; inside a server that embeds it, too."""
    ours = Path(sys.prefix, "bin", "python")
    return [str(ours) if ours.exists() else sys.executable, *arguments]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def run_module(module: str, arguments: Sequence[str], data: Any) -> bytes:
    """What a module of ours prints as a process of its own that is given data: bytes as they are, or JSON.

    Raises:
        subprocess.SubprocessError: it fails, or is not ready in time.
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
    """Python with these arguments as a process that nobody hears or stops, and that outlives this one."""
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        python_command(*arguments), stdin=nothing, stdout=nothing, env=environment(), start_new_session=True
    )
    Thread(target=process.wait, daemon=True).start()  # else it stays in the table of processes when it ends
    return process
