"""A chart as PDF, drawn by a process of its own when somebody asks for it."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from reports.apart import environment, python

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
    command = python("-m", module, *arguments)
    done = subprocess.run(
        command,
        input=json.dumps(data).encode(),
        stdout=subprocess.PIPE,
        timeout=PATIENCE_SECONDS,
        check=True,
        env=environment(),
    )
    return done.stdout


def main() -> None:
    from reports.palettes import PALETTES
    from reports.plots import pdf

    name, scheme = sys.argv[1:]
    sys.stdout.buffer.write(pdf(name, json.load(sys.stdin), PALETTES[scheme]))


if __name__ == "__main__":
    main()
