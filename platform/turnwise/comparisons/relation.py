"""How the scores of bots go with another measure of them: points, line and correlations. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from evaluation.interval import Interval, Undefined
from evaluation.relation import Correlation, Line, kendall, line, pearson, spearman
from turnwise.comparisons.measured import Measured

Cell: TypeAlias = Mapping[str, Any]

_BAND_POINTS = 41
_CORRELATIONS = {"Pearson": pearson, "Spearman": spearman, "Kendall (tau-b)": kendall}


@dataclass(frozen=True, slots=True)
class Point:
    """A bot, a version of one, or another system.

    Attributes:
        name: what it is called.
        bot: name of the bot in addresses; "" for a system that is no bot.
        x: cell of the measure on the horizontal axis: "value", perhaps "low" and "high".
        scores: by score, its cell in percent.
        conversations: how many conversations or contexts the scores rest on.
        labels: how many labels.
    """

    name: str
    bot: str
    x: Cell
    scores: Mapping[str, Cell]
    conversations: int
    labels: int


def relation_figures(x_title: str, points: Sequence[Point], measured: Measured) -> dict[str, Any]:
    """The points, and for each score its line and correlations with x; ready for JSON.

    Args:
        x_title: what x is, with its unit, in the words of an axis.
        points: one for each bot or version; what the data cannot tell is told with its reason.
        measured: whose scores the points have.
    """
    return {
        "x": x_title,
        "points": [
            {
                "number": number,
                "name": point.name,
                "bot": point.bot,
                "x": dict(point.x),
                "scores": {key: dict(point.scores[key]) for key in measured.titles},
                "conversations": point.conversations,
                "labels": point.labels,
            }
            for number, point in enumerate(points, 1)
        ],
        "relations": [_relation(key, title, points) for key, title in measured.titles.items()],
    }


def _relation(key: str, title: str, points: Sequence[Point]) -> dict[str, Any]:
    known = [(point.x["value"], point.scores[key]["value"]) for point in points]
    x, y = ([float(pair[axis]) for pair in known if pair[1] is not None] for axis in (0, 1))
    return {
        "key": key,
        "title": title,
        "line": _line(line(x, y), x),
        "correlations": [
            {"name": name, **_correlation(correlation(x, y))} for name, correlation in _CORRELATIONS.items()
        ],
    }


def _line(found: Line | Undefined, x: Sequence[float]) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    at = np.linspace(min(x), max(x), _BAND_POINTS)
    low, high = found.band(at)
    return {
        "slope": _with_interval(found.slope, found.slope_interval),
        "intercept": _with_interval(found.intercept, found.intercept_interval),
        "r_squared": _with_interval(found.r_squared, found.r_squared_interval),
        "at": at.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _correlation(found: Correlation | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"value": None, "undefined": found.reason}
    return _with_interval(found.value, found.interval)


def _with_interval(value: float, interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(interval, Undefined):
        return {"value": value, "undefined": interval.reason}
    return {"value": value, "low": interval.low, "high": interval.high}
