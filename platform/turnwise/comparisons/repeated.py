"""What several studies of the same bot tell together: how they vary, and static less interactive. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from evaluation.interval import Interval, Undefined, difference_of
from evaluation.protocols.facts import Evaluation
from evaluation.ssa import spread

Row: TypeAlias = Mapping[str, Any]

MOST_ROWS = 100
_LIVE = {Evaluation.INTERACTIVE, Evaluation.READ}


def repeated(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """By bot with two studies or more of one kind: mean of each score over them, and standard deviation.

    The paper repeated its interactive evaluation seven times and its static one, too. Each study counts once,
    however many conversations it has.

    Args:
        rows: of one table, as `side_by_side.tables` gives them.
    """
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["bot"], row["kind"]), []).append(row)
    return [
        {
            "bot": bot,
            "kind": kind,
            "studies": len(group),
            "cells": [_spread(cells) for cells in zip(*(row["cells"] for row in group), strict=True)],
        }
        for (bot, kind), group in list(groups.items())[:MOST_ROWS]
        if len(group) > 1
    ]


def _spread(cells: Sequence[Row]) -> dict[str, float | None]:
    known = [cell["value"] for cell in cells if cell["value"] is not None]
    if len(known) < 2:
        return {"value": known[0] if known else None, "deviation": None}
    of_studies = spread(known)
    deviation = None if isinstance(of_studies.deviation, Undefined) else of_studies.deviation
    return {"value": of_studies.mean, "deviation": deviation}


def static_less_interactive(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For each bot, each of its static studies less each of its interactive ones, with intervals.

    Args:
        rows: of one table, as `side_by_side.tables` gives them.
    """
    return [
        {
            "bot": one["bot"],
            "static": one["study"],
            "interactive": other["study"],
            "cells": [
                _apart(*cells, levels={one["level"], other["level"]})
                for cells in zip(one["cells"], other["cells"], strict=True)
            ],
        }
        for one, other in list(_meeting(rows))[:MOST_ROWS]
    ]


def _meeting(rows: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    live: dict[str, list[Row]] = {}
    for row in rows:
        if row["kind"] in _LIVE:
            live.setdefault(row["bot"], []).append(row)
    for row in rows:
        if row["kind"] == Evaluation.STATIC:
            yield from ((row, other) for other in live.get(row["bot"], ()))


def _apart(first: Row, second: Row, *, levels: set[float]) -> dict[str, Any]:
    if first["value"] is None or second["value"] is None:
        return {"value": None}
    cell = {"value": first["value"] - second["value"]}
    if "low" not in first or "low" not in second:
        return cell | {"undefined": "One of the two has no interval."}
    if len(levels) > 1:
        return cell | {"undefined": "The intervals of the two are of different levels."}
    (level,) = levels
    ends = [Interval(each["low"], each["high"], level, "") for each in (first, second)]
    found = difference_of(first["value"], ends[0], second["value"], ends[1])
    return cell | {"low": found.low, "high": found.high}
