"""Which charts a result has, by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from matplotlib import rc_context
from matplotlib.figure import Figure

from evaluation.protocols import Published
from turnwise.charts.forest import scores, scores_in_words
from turnwise.charts.names import name_of
from turnwise.charts.palettes import PAGE, Palette
from turnwise.charts.panels import Result, published_in
from turnwise.charts.plane import plane, plane_in_words
from turnwise.charts.preferences import preferences, preferences_in_words
from turnwise.charts.replies import by_reply, by_reply_in_words
from turnwise.charts.room import NARROW, WIDE, Room
from turnwise.charts.theme import as_pdf, for_page
from turnwise.charts.turns import by_turn, by_turn_in_words


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as SVG for its page: for a desktop, and drawn anew for a phone."""

    svg: str
    narrow_svg: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A kind of chart: how it is drawn, how it is told to those who do not see it, and what it needs."""

    draw: Callable[[Result, Sequence[Published], Room, Palette], Figure]
    describe: Callable[[Result], str]
    has_data: Callable[[Result], bool]


CHARTS: Mapping[str, Chart] = {
    "scores": Chart(
        scores, scores_in_words, lambda result: "headline" in result and "preferences" not in result
    ),
    "preferences": Chart(preferences, preferences_in_words, lambda result: bool(result.get("preferences"))),
    "plane": Chart(plane, plane_in_words, lambda result: result.get("plane") is not None),
    "by-reply": Chart(by_reply, by_reply_in_words, lambda result: bool(result.get("by_reply"))),
    "by-turn": Chart(by_turn, by_turn_in_words, lambda result: bool(result.get("by_turn"))),
}
Found: TypeAlias = tuple[str, Chart, Result]


def drawings(result: Result) -> dict[str, Drawing]:
    """By name, the charts that the result has data for."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {
            found[0]: Drawing(_svg(found, WIDE, found[0]), _svg(found, NARROW, f"{found[0]}-narrow"))
            for found in _with_data(result)
        }


def svgs(result: Result) -> dict[str, str]:
    """By name, the charts that the result has data for, for a desktop or a file."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {found[0]: _svg(found, WIDE, found[0]) for found in _with_data(result)}


def pdf(name: str, result: Result, palette: Palette) -> bytes:
    """One of these charts as a file, in fixed colours."""
    found = next(each for each in _with_data(result) if each[0] == name)
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(_drawn(found, WIDE, palette), palette)


def _with_data(result: Result) -> Iterator[Found]:
    """The charts of the first ask, then those of what is asked beside it."""
    for ask, figures in enumerate([result, *result.get("beside", ())]):
        if figures["bots"] and figures["columns"]:
            for kind, chart in CHARTS.items():
                if chart.has_data(figures):
                    yield name_of(kind, ask), chart, figures


def _svg(found: Found, room: Room, ids: str) -> str:
    _, chart, result = found
    return for_page(_drawn(found, room, PAGE), ids, chart.describe(result))


def _drawn(found: Found, room: Room, palette: Palette) -> Figure:
    _, chart, result = found
    return chart.draw(result, published_in(result), room, palette)
