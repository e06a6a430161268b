"""Charts as the comparison's pages show them: in place, and as files to take away."""

import logging
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest, HttpResponse

from comparisons import drawing
from comparisons.drawing import Sheet
from reports.charts.palettes import PALETTES

log = logging.getLogger(__name__)

NOT_DRAWN = "The charts could not be drawn this time. The tables have all their numbers; reload to try again."


@dataclass(frozen=True, slots=True)
class Shown:
    """A chart in a page, with the addresses of its files by what they are called."""

    svg: str
    files: Mapping[str, str]


Address = Callable[[str, str], str]
"""The address of a chart's file by the chart's name and the file's ending."""


def charts(sheets: Sequence[Sheet], address: Address, query: str) -> tuple[dict[str, Shown], str]:
    """By name, the charts of a page, and what to tell if they could not be drawn."""
    try:
        drawn = drawing.svgs(sheets)
    except subprocess.SubprocessError:
        log.exception("Charts of a comparison could not be drawn.")
        return {}, NOT_DRAWN
    return {name: Shown(svg, _files(name, address, query)) for name, svg in drawn.items()}, ""


def _files(name: str, address: Address, query: str) -> dict[str, str]:
    rest = f"{query}&" if query else ""
    return {
        f"{'dark ' if scheme == 'dark' else ''}{ending.upper()}": (
            f"{address(name, ending)}?{rest}scheme={scheme}"
        )
        for ending in ("svg", "pdf")
        for scheme in PALETTES
    }


def file(request: HttpRequest, sheets: Sequence[Sheet], name: str, ending: str) -> HttpResponse:
    """One of these charts as a file, in the colours of ?scheme=light or dark."""
    scheme = request.GET.get("scheme", "light")
    found = [sheet for sheet in sheets if sheet.name == name]
    if scheme not in PALETTES or not found:
        raise Http404(f"There is no chart {name} in the scheme {scheme} for this choice.")
    content_type = {"svg": "image/svg+xml", "pdf": "application/pdf"}[ending]
    try:
        response = HttpResponse(drawing.file(found[0], ending, scheme), content_type=content_type)
    except subprocess.SubprocessError:
        log.exception("The chart %s could not be drawn.", name)
        return HttpResponse(NOT_DRAWN, status=503, content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="turnwise-{name}-{scheme}.{ending}"'
    return response
