"""Pictures of comparisons, drawn in a subprocess and cached by content.

They depend on the user and the chosen studies, so no job can draw them in advance. A page does not wait for
them: it has their addresses, and browsers request them.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from turnwise.charts.layout import NARROW, PALETTES, WIDE, standalone
from turnwise.live.caching import cache_key, cached
from turnwise.live.subprocesses import run_module

_MODULE = "turnwise.comparisons.drawing"
VIEWPORTS = {"wide": WIDE, "narrow": NARROW}
# A browser requests all charts of a page at once: the first request draws them, the others wait.
_drawing_lock = Lock()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A chart to be drawn.

    Attributes:
        kind: a key of `chart_data.CHART_DESCRIPTIONS`.
        name: its name in addresses and in ids of the page.
        data: its data, ready for JSON.
    """

    kind: str
    name: str
    data: Any


def version_of(sheet: Sheet) -> str:
    """Version string of a chart: changes with its content."""
    return cache_key(asdict(sheet))[-16:]


def svg(sheets: Sequence[Sheet], name: str, scheme: str, viewport: str = "wide") -> bytes:
    """SVG file of one chart in the colours of a scheme; draws all charts of its page.

    Raises:
        subprocess.SubprocessError: drawing fails or takes too long.
    """
    described = [asdict(sheet) for sheet in sheets]
    key = cache_key("svg", viewport, described)

    def draw() -> dict[str, str]:
        drawn: dict[str, str] = json.loads(run_module(_MODULE, ["svg", viewport], described))
        return drawn

    def draw_alone() -> Any:
        with _drawing_lock:
            return cached(key, draw)

    drawn: dict[str, str] = cached(key, draw_alone)
    return standalone(drawn[name], PALETTES[scheme]).encode()


def pdf(sheet: Sheet, scheme: str) -> bytes:
    """PDF file of a chart in the colours of a scheme. Raises like `svg`."""
    described = asdict(sheet)
    drawn: bytes = cached(
        cache_key("pdf", scheme, described), lambda: run_module(_MODULE, ["pdf", scheme], described)
    )
    return drawn


def main() -> None:
    from turnwise.comparisons import plots

    data = json.load(sys.stdin)
    if sys.argv[1] == "svg":
        viewport = VIEWPORTS[sys.argv[2]]
        print(json.dumps({each["name"]: plots.svg(**each, viewport=viewport) for each in data}))
    else:
        sys.stdout.buffer.write(plots.pdf(data["kind"], data["data"], PALETTES[sys.argv[2]]))


if __name__ == "__main__":
    main()
