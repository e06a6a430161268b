"""Sheets: the charts that a comparison has and their data. Pictures and files of them for pages."""

import logging
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

from turnwise.charts.layout import PALETTES, pixels
from turnwise.comparisons import chart_data, drawing
from turnwise.comparisons.chart_data import CHART_DESCRIPTIONS
from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.measures import Measured, lines_of, marks_of
from turnwise.comparisons.side_by_side import group_by_scale
from turnwise.live.caching import CACHE_SECONDS

# A chart with more lines is unreadable; the table has them all.
MOST_LINES = 60
MOST_ROWS = 40


def table_sheets(tables: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """Sheets of each table of studies that has bots and scores and is short enough for a chart."""
    return [
        sheet
        for table in tables
        if table["columns"] and 0 < len(table["rows"]) <= MOST_LINES
        for sheet in _sheets_of_table(table)
    ]


def numbered_name(name: str, nth: int) -> str:
    """Name of the nth chart of a table; the first has the table's name."""
    return f"{name}-{nth}" if nth > 1 else name


def _sheets_of_table(table: Mapping[str, Any]) -> list[Sheet]:
    """A sheet for each group of scores that share an axis."""
    columns = table["columns"]
    scales = {str(i): (each["percent"], each["low"], each["high"]) for i, each in enumerate(columns)}
    sheets = []
    for nth, keys in enumerate(group_by_scale([*scales], scales), 1):
        percent, low, high = scales[keys[0]]
        data = {
            "rows": table["rows"],
            "scores": [[int(key), columns[int(key)]["title"]] for key in keys],
            "percent": percent,
            "ends": [low, high],
        }
        sheets.append(Sheet("side-by-side", numbered_name(table["name"], nth), data))
    return sheets


def history_sheets(rows: Sequence[Mapping[str, Any]], measured: Measured) -> list[Sheet]:
    """Sheets of a bot's newest scores over time, one for each group of scores that share an axis."""
    if not rows:
        return []
    return [
        Sheet(
            "over-time",
            numbered_name("history", nth),
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


def relation_sheets(
    figures: Mapping[str, Any], measured: Measured, *, marks: bool, percent: bool
) -> list[Sheet]:
    """Sheets of each score against the measure, if there are points.

    Args:
        figures: result of `measures.relation_figures`.
        measured: the question set of the scores.
        marks: whether to show published systems; for perplexity only.
        percent: whether the measure is in percent.
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
    """Published systems without a perplexity, grouped by score, best first."""
    by_value: dict[float, list[str]] = {}
    for system, value in lines_of(measured, score):
        by_value.setdefault(value, []).append(system)
    return [{"name": ", ".join(by_value[value]), "y": value} for value in sorted(by_value, reverse=True)]


log = logging.getLogger(__name__)

NOT_DRAWN = "The chart could not be drawn. The tables have all its numbers. Reload the page to try again."


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart drawn for a desktop or for a phone.

    Attributes:
        addresses: by colour scheme; they change with the chart.
        width: pixels of the page.
        height: pixels of the page.
    """

    addresses: Mapping[str, str]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class PageChart:
    """A chart in a page.

    Attributes:
        wide: for a desktop.
        narrow: for a phone.
        words: description for screen readers.
        files: addresses of its files for download, by title.
        name: name of the chart, unique in the page.
        plot: its numbers for the page's script.
    """

    wide: Picture
    narrow: Picture
    words: str
    files: Mapping[str, str]
    name: str
    plot: Mapping[str, Any]


Address = Callable[[str, str], str]
"""Function from a chart's name and a file's ending to the file's address."""


def charts(
    sheets: Sequence[Sheet], address: Address, query: str, links: Mapping[str, chart_data.Links]
) -> dict[str, PageChart]:
    """Charts of a page, by name. Pictures are drawn when a browser requests them.

    Args:
        sheets: the charts' data.
        address: gives the addresses of their files.
        query: query string that selects the same charts.
        links: links of each chart's marks, by chart.
    """
    rest = f"{query}&" if query else ""
    return {sheet.name: _page_chart(sheet, address, rest, links.get(sheet.name, {})) for sheet in sheets}


def _page_chart(sheet: Sheet, address: Address, rest: str, links: chart_data.Links) -> PageChart:
    picture = f"{address(sheet.name, 'svg')}?{rest}v={drawing.version_of(sheet)}"
    files = {
        f"{'dark ' if scheme == 'dark' else ''}{ending.upper()}": (
            f"{address(sheet.name, ending)}?{rest}scheme={scheme}"
        )
        for ending in ("svg", "pdf")
        for scheme in PALETTES
    }
    wide, narrow = (_picture(sheet, viewport, picture) for viewport in drawing.VIEWPORTS)
    words, plot = (
        CHART_DESCRIPTIONS[sheet.kind].words(sheet.data),
        chart_data.plot(sheet.kind, sheet.data, links),
    )
    return PageChart(wide, narrow, words, files, sheet.name, plot)


def _picture(sheet: Sheet, viewport: str, address: str) -> Picture:
    width, height = map(pixels, CHART_DESCRIPTIONS[sheet.kind].size(sheet.data, drawing.VIEWPORTS[viewport]))
    return Picture(
        {scheme: f"{address}&room={viewport}&scheme={scheme}" for scheme in PALETTES}, width, height
    )


def chart_file(request: HttpRequest, sheets: Sequence[Sheet], name: str, ending: str) -> HttpResponse:
    """File with one of these charts, in the colours of ?scheme=light or dark, for ?room=wide or narrow."""
    scheme, viewport = request.GET.get("scheme", "light"), request.GET.get("room", "wide")
    matching = [sheet for sheet in sheets if sheet.name == name]
    if scheme not in PALETTES or viewport not in drawing.VIEWPORTS or not matching:
        raise Http404(f"There is no chart {name} in the scheme {scheme}, {viewport}, for this choice.")
    content_type = {"svg": "image/svg+xml", "pdf": "application/pdf"}[ending]
    try:
        drawn = (
            drawing.svg(sheets, name, scheme, viewport)
            if ending == "svg"
            else drawing.pdf(matching[0], scheme)
        )
    except subprocess.SubprocessError:
        log.exception("The chart %s could not be drawn.", name)
        return HttpResponse(NOT_DRAWN, status=503, content_type="text/plain; charset=utf-8")
    response = HttpResponse(drawn, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="turnwise-{name}-{scheme}.{ending}"'
    if "v" in request.GET:
        patch_cache_control(response, private=True, max_age=CACHE_SECONDS)
    return response
