"""Charts of the comparisons, drawn by a process of its own and kept by their content.

They depend on who looks and what is chosen, so no job can draw them before; and the process that serves pages
does not draw. No page waits for them: it says where its charts are, and browsers ask for them.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any

from turnwise.charts.layout import NARROW, PALETTES, WIDE, standalone
from turnwise.live.caching import key_of, remembered
from turnwise.live.subprocesses import run

_MODULE = "turnwise.comparisons.drawing"
ROOMS = {"wide": WIDE, "narrow": NARROW}
# A browser asks for all charts of a page at once: the first request draws them, the others wait for it.
_at_work = Lock()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A chart to be drawn.

    Attributes:
        kind: which of `described.DESCRIBED`.
        name: its name in addresses and among the ids of the page.
        data: what it shows, as JSON holds it.
    """

    kind: str
    name: str
    data: Any


def version_of(sheet: Sheet) -> str:
    """Another word whenever the chart is another one."""
    return key_of(asdict(sheet))[-16:]


def svg(sheets: Sequence[Sheet], name: str, scheme: str, room: str = "wide") -> bytes:
    """One of the charts of a page as a file, in the colours of a scheme, for a room; all of them are drawn.

    Raises:
        subprocess.SubprocessError: they cannot be drawn, or not in time.
    """
    described = [asdict(sheet) for sheet in sheets]
    key = key_of("svg", room, described)

    def draw() -> dict[str, str]:
        drawn: dict[str, str] = json.loads(run(_MODULE, ["svg", room], described))
        return drawn

    def draw_alone() -> Any:
        with _at_work:
            return remembered(key, draw)

    drawn: dict[str, str] = remembered(key, draw_alone)
    return standalone(drawn[name], PALETTES[scheme]).encode()


def pdf(sheet: Sheet, scheme: str) -> bytes:
    """A chart as a file in the colours of a scheme; raises as `svg`."""
    described = asdict(sheet)
    drawn: bytes = remembered(
        key_of("pdf", scheme, described), lambda: run(_MODULE, ["pdf", scheme], described)
    )
    return drawn


def main() -> None:
    from turnwise.comparisons import plots

    data = json.load(sys.stdin)
    if sys.argv[1] == "svg":
        room = ROOMS[sys.argv[2]]
        print(json.dumps({each["name"]: plots.svg(**each, room=room) for each in data}))
    else:
        sys.stdout.buffer.write(plots.pdf(data["kind"], data["data"], PALETTES[sys.argv[2]]))


if __name__ == "__main__":
    main()
