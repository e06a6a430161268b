"""Which charts a comparison has, and what each shows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.measured import Measured
from turnwise.comparisons.picking import by_scale
from turnwise.comparisons.published import lines_of, marks_of

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
