"""Which charts a comparison has, and what each shows. Pure.

Charts as the comparison's pages show them: pictures with addresses of their own, and files to download.
"""

import logging
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

from turnwise.charts.layout import PALETTES, pixels
from turnwise.comparisons import chart_data, drawing
from turnwise.comparisons.chart_data import DESCRIBED
from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.measures import Measured, lines_of, marks_of
from turnwise.comparisons.side_by_side import by_scale
from turnwise.live.caching import KEPT_SECONDS

# A chart of more lines than this cannot be read; the table has them all.
MOST_LINES = 60
MOST_ROWS = 40


def of_tables(tables: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """The charts of each table of studies that has bots and scores, and is not too long for one."""
    return [
        sheet
        for table in tables
        if table["columns"] and 0 < len(table["rows"]) <= MOST_LINES
        for sheet in _of_table(table)
    ]


def numbered(name: str, nth: int) -> str:
    """What the chart of a table is called, the first by the table's name."""
    return f"{name}-{nth}" if nth > 1 else name


def _of_table(table: Mapping[str, Any]) -> list[Sheet]:
    """The scores that share an axis together."""
    columns = table["columns"]
    scales = {str(i): (each["percent"], each["low"], each["high"]) for i, each in enumerate(columns)}
    sheets = []
    for nth, keys in enumerate(by_scale([*scales], scales), 1):
        percent, low, high = scales[keys[0]]
        data = {
            "rows": table["rows"],
            "scores": [[int(key), columns[int(key)]["title"]] for key in keys],
            "percent": percent,
            "ends": [low, high],
        }
        sheets.append(Sheet("side-by-side", numbered(table["name"], nth), data))
    return sheets


def of_course(rows: Sequence[Mapping[str, Any]], measured: Measured) -> list[Sheet]:
    """The newest scores of a bot in order of time: those that share an axis together."""
    if not rows:
        return []
    return [
        Sheet(
            "over-time",
            numbered("history", nth),
            {
                "rows": list(rows[-MOST_ROWS:]),
                "scores": dict(scores),
                "main": measured.main.key if measured.main.key in scores else next(iter(scores)),
                "percent": measured.is_percent(next(iter(scores))),
                "ends": measured.ends(next(iter(scores))),
            },
        )
        for nth, scores in enumerate(measured.charts, 1)
    ]


def of_relation(figures: Mapping[str, Any], measured: Measured, *, marks: bool, percent: bool) -> list[Sheet]:
    """A plot of each score against the measure, if there are points.

    Args:
        figures: as `relation.relation_figures` gives them.
        measured: whose scores they have.
        marks: whether published systems stand in them, too; for perplexity only.
        percent: whether the measure is in percent, too.
    """
    if not figures["points"]:
        return []
    return [
        Sheet(
            "relation",
            f"relation-{relation['key']}",
            {
                "x": figures["x"],
                "x_limits": [0, 100] if percent else None,
                "relation": relation,
                "percent": measured.is_percent(relation["key"]),
                "ends": measured.ends(relation["key"]),
                "points": [
                    {key: point[key] for key in ("number", "name", "x")}
                    | {"y": point["scores"][relation["key"]]}
                    for point in figures["points"]
                    if point["scores"][relation["key"]]["value"] is not None
                ],
                "marks": _marks(measured, relation["key"]) if marks else [],
                "lines": _lines(measured, relation["key"]) if marks else [],
            },
        )
        for relation in figures["relations"]
    ]


def _marks(measured: Measured, score: str) -> list[dict[str, Any]]:
    there = [mark for mark in marks_of(measured) if score in mark.scores]
    return [{"name": mark.system, "x": mark.perplexity, "y": mark.scores[score]} for mark in there]


def _lines(measured: Measured, score: str) -> list[dict[str, Any]]:
    """The published systems without a perplexity, those of equal score together, the best first."""
    found: dict[float, list[str]] = {}
    for system, value in lines_of(measured, score):
        found.setdefault(value, []).append(system)
    return [{"name": ", ".join(found[value]), "y": value} for value in sorted(found, reverse=True)]


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
    sheets: Sequence[Sheet], address: Address, query: str, leads: Mapping[str, chart_data.Leads]
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


def _shown(sheet: Sheet, address: Address, rest: str, leads: chart_data.Leads) -> Shown:
    picture = f"{address(sheet.name, 'svg')}?{rest}v={drawing.version_of(sheet)}"
    files = {
        f"{'dark ' if scheme == 'dark' else ''}{ending.upper()}": (
            f"{address(sheet.name, ending)}?{rest}scheme={scheme}"
        )
        for ending in ("svg", "pdf")
        for scheme in PALETTES
    }
    wide, narrow = (_picture(sheet, room, picture) for room in drawing.ROOMS)
    words, plot = DESCRIBED[sheet.kind].words(sheet.data), chart_data.plot(sheet.kind, sheet.data, leads)
    return Shown(wide, narrow, words, files, sheet.name, plot)


def _picture(sheet: Sheet, room: str, address: str) -> Picture:
    width, height = map(pixels, DESCRIBED[sheet.kind].size(sheet.data, drawing.ROOMS[room]))
    return Picture({scheme: f"{address}&room={room}&scheme={scheme}" for scheme in PALETTES}, width, height)


def chart_file(request: HttpRequest, sheets: Sequence[Sheet], name: str, ending: str) -> HttpResponse:
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
