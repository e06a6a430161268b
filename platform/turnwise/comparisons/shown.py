"""Charts as the comparison's pages show them: pictures with addresses of their own, and files to download."""

import logging
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

from turnwise.charts.palettes import PALETTES
from turnwise.charts.room import pixels
from turnwise.comparisons import drawing, interactive
from turnwise.comparisons.described import DESCRIBED
from turnwise.comparisons.drawing import Sheet
from turnwise.live.remembered import KEPT_SECONDS

log = logging.getLogger(__name__)

NOT_DRAWN = "The chart could not be drawn this time. The tables have all its numbers; reload to try again."


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart as it is drawn for a desktop or for a phone.

    Attributes:
        addresses: by scheme; others as soon as the chart is another.
        width: in pixels of the page.
        height: likewise.
    """

    addresses: Mapping[str, str]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A chart in a page.

    Attributes:
        wide: for a desktop.
        narrow: for a phone.
        words: what it shows, for those who do not see it.
        files: addresses to take it away from, by what they are called.
        name: among the charts of the page.
        plot: its numbers, for the page's script.
    """

    wide: Picture
    narrow: Picture
    words: str
    files: Mapping[str, str]
    name: str
    plot: Mapping[str, Any]


Address = Callable[[str, str], str]
"""The address of a chart's file by the chart's name and the file's ending."""


def charts(
    sheets: Sequence[Sheet], address: Address, query: str, leads: Mapping[str, interactive.Leads]
) -> dict[str, Shown]:
    """By name, the charts of a page; as pictures they are drawn when a browser asks for them.

    Args:
        sheets: what they show.
        address: of their files.
        query: that gives the same charts.
        leads: by chart, where its marks lead.
    """
    rest = f"{query}&" if query else ""
    return {sheet.name: _shown(sheet, address, rest, leads.get(sheet.name, {})) for sheet in sheets}


def _shown(sheet: Sheet, address: Address, rest: str, leads: interactive.Leads) -> Shown:
    picture = f"{address(sheet.name, 'svg')}?{rest}v={drawing.version_of(sheet)}"
    files = {
        f"{'dark ' if scheme == 'dark' else ''}{ending.upper()}": (
            f"{address(sheet.name, ending)}?{rest}scheme={scheme}"
        )
        for ending in ("svg", "pdf")
        for scheme in PALETTES
    }
    wide, narrow = (_picture(sheet, room, picture) for room in drawing.ROOMS)
    words, plot = DESCRIBED[sheet.kind].words(sheet.data), interactive.plot(sheet.kind, sheet.data, leads)
    return Shown(wide, narrow, words, files, sheet.name, plot)


def _picture(sheet: Sheet, room: str, address: str) -> Picture:
    width, height = map(pixels, DESCRIBED[sheet.kind].size(sheet.data, drawing.ROOMS[room]))
    return Picture({scheme: f"{address}&room={room}&scheme={scheme}" for scheme in PALETTES}, width, height)


def file(request: HttpRequest, sheets: Sequence[Sheet], name: str, ending: str) -> HttpResponse:
    """One of these charts as a file, in the colours of ?scheme=light or dark, for ?room=wide or narrow."""
    scheme, room = request.GET.get("scheme", "light"), request.GET.get("room", "wide")
    found = [sheet for sheet in sheets if sheet.name == name]
    if scheme not in PALETTES or room not in drawing.ROOMS or not found:
        raise Http404(f"There is no chart {name} in the scheme {scheme}, {room}, for this choice.")
    content_type = {"svg": "image/svg+xml", "pdf": "application/pdf"}[ending]
    try:
        drawn = drawing.svg(sheets, name, scheme, room) if ending == "svg" else drawing.pdf(found[0], scheme)
    except subprocess.SubprocessError:
        log.exception("The chart %s could not be drawn.", name)
        return HttpResponse(NOT_DRAWN, status=503, content_type="text/plain; charset=utf-8")
    response = HttpResponse(drawn, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="turnwise-{name}-{scheme}.{ending}"'
    if "v" in request.GET:
        patch_cache_control(response, private=True, max_age=KEPT_SECONDS)
    return response
