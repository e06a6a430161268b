"""A chart as PDF, drawn by a process of its own when somebody asks for it.

Matplotlib is heavy and holds the interpreter, and the process that serves pages serves workers, too.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PATIENCE_SECONDS = 60


def drawn(name: str, result: Mapping[str, Any], scheme: str) -> bytes:
    """A chart of a stored result in the colours of a scheme.

    Raises:
        subprocess.SubprocessError: it cannot be drawn, or not in time.
    """
    return run("reports.pdf", [name, scheme], result)


def run(module: str, arguments: Sequence[str], data: Any) -> bytes:
    """What a module of ours prints as a process of its own that is given data as JSON.

    Raises:
        subprocess.SubprocessError: it fails, or is not ready in time.
    """
    # Inside a server that embeds Python, sys.executable is that server.
    python = Path(sys.prefix, "bin", "python")
    command = [str(python) if python.exists() else sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command,
        input=json.dumps(data).encode(),
        stdout=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return done.stdout


def main() -> None:
    from reports.palettes import PALETTES
    from reports.plots import pdf

    name, scheme = sys.argv[1:]
    sys.stdout.buffer.write(pdf(name, json.load(sys.stdin), PALETTES[scheme]))


if __name__ == "__main__":
    main()
