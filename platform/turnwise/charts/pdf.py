"""Charts as PDF, drawn on request in a subprocess."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from turnwise.live.subprocesses import run_module


def render_pdf(name: str, result: Mapping[str, Any], scheme: str) -> bytes:
    """Draw a chart of a stored result in the colours of a scheme.

    Raises:
        subprocess.SubprocessError: drawing fails or takes too long.
    """
    return run_module("turnwise.charts.pdf", [name, scheme], result)


def main() -> None:
    from turnwise.charts.drawing import pdf
    from turnwise.charts.layout import PALETTES

    name, scheme = sys.argv[1:]
    sys.stdout.buffer.write(pdf(name, json.load(sys.stdin), PALETTES[scheme]))


if __name__ == "__main__":
    main()
