"""A chart as PDF, drawn by a process of its own when somebody asks for it."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from turnwise.live.subprocesses import run


def drawn(name: str, result: Mapping[str, Any], scheme: str) -> bytes:
    """A chart of a stored result in the colours of a scheme.

    Raises:
        subprocess.SubprocessError: it cannot be drawn, or not in time.
    """
    return run("turnwise.charts.pdf", [name, scheme], result)


def main() -> None:
    from turnwise.charts.drawing import pdf
    from turnwise.charts.layout import PALETTES

    name, scheme = sys.argv[1:]
    sys.stdout.buffer.write(pdf(name, json.load(sys.stdin), PALETTES[scheme]))


if __name__ == "__main__":
    main()
