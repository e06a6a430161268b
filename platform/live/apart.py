"""Work for a page that is done by a process of its own.

Matplotlib and the statistics are heavy and hold the interpreter, and the process that serves pages serves
workers, too.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from threading import BoundedSemaphore, Timer
from typing import IO, Any

AT_ONCE = 2
LONGEST_SECONDS = 3600.0
PATIENCE_SECONDS = 60
_CHUNK = 1 << 16
_LOOKED_EVERY = 1 << 8
SPARED_BYTES = 1 << 30
"""So much of the disk is left to others."""
_places = BoundedSemaphore(AT_ONCE)


class BusyError(Exception):
    """This process waits for as many others as it may at once."""


def python(*arguments: str) -> list[str]:
    """The command that runs Python as this process does; inside a server that embeds it, too."""
    ours = Path(sys.prefix, "bin", "python")
    return [str(ours) if ours.exists() else sys.executable, *arguments]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def run(module: str, arguments: Sequence[str], data: Any) -> bytes:
    """What a module of ours prints as a process of its own that is given data: bytes as they are, or JSON.

    Raises:
        subprocess.SubprocessError: it fails, or is not ready in time.
    """
    done = subprocess.run(
        python("-m", module, *arguments),
        input=data if isinstance(data, bytes) else json.dumps(data).encode(),
        stdout=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
        check=True,
        env=environment(),
    )
    return done.stdout


def left_alone(*arguments: str) -> "subprocess.Popen[bytes]":
    """Python with these arguments as a process that nobody hears or stops, and that outlives this one."""
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        python(*arguments), stdin=nothing, stdout=nothing, env=environment(), start_new_session=True
    )


def streamed(*arguments: str) -> Generator[bytes]:
    """What Python prints with these arguments, while it runs; closing the generator ends it.

    Raises:
        BusyError: too many run already; nothing was started.
        RuntimeError: it could not be finished. The log says why.
    """
    if not _places.acquire(blocking=False):
        raise BusyError
    try:
        yield from _said_by(python(*arguments))
    finally:
        _places.release()


def made(*arguments: str) -> IO[bytes]:
    """What Python prints with these arguments, all of it: a file without a name, which is gone once closed.

    Raises:
        BusyError: too many run already; nothing was started.
        RuntimeError: it could not be finished, or the disk has no room for it. Nothing of it stays.
    """
    file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by whoever gets it
    try:
        with closing(streamed(*arguments)) as chunks:
            for number, chunk in enumerate(chunks):
                if number % _LOOKED_EVERY == 0:
                    _refuse_full_disk(tempfile.gettempdir())
                file.write(chunk)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _refuse_full_disk(folder: str) -> None:
    if shutil.disk_usage(folder).free < SPARED_BYTES:
        raise RuntimeError(f"{folder} has less than {SPARED_BYTES:,} bytes left.")


def _said_by(command: Sequence[str]) -> Generator[bytes]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdout is not None
        # It holds a snapshot of the database for as long.
        end = Timer(LONGEST_SECONDS, process.kill)
        end.daemon = True
        end.start()
        try:
            while chunk := process.stdout.read1(_CHUNK):  # type: ignore[attr-defined]  # it is buffered
                yield chunk
            if process.wait():
                raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}.")
        finally:
            end.cancel()
            process.kill()
