"""Which charts a comparison has, and what each shows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from comparisons.drawing import Sheet
from comparisons.published import LINES, MARKS, SCORED

# A chart of more lines than this cannot be read; the table has them all.
MOST_LINES = 60
MOST_ROWS = 40


def of_tables(tables: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """A chart for each table of studies that has bots and percentages, and is not too long for one."""
    return [
        Sheet("side-by-side", table["name"], dict(table))
        for table in tables
        if any(column["percent"] for column in table["columns"]) and 0 < len(table["rows"]) <= MOST_LINES
    ]


def of_course(rows: Sequence[Mapping[str, Any]]) -> list[Sheet]:
    """The newest scores of a bot in order of time."""
    if not rows:
        return []
    scores = {score.key: score.title for score in SCORED.scores}
    data = {"rows": list(rows[-MOST_ROWS:]), "scores": scores, "main": SCORED.headline}
    return [Sheet("over-time", "history", data)]


def of_relation(figures: Mapping[str, Any], *, marks: bool, percent: bool) -> list[Sheet]:
    """A plot of each score against the measure, if there are points.

    Args:
        figures: as `relation.relation_figures` gives them.
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
                "points": [
                    {key: point[key] for key in ("number", "name", "x")}
                    | {"y": point["scores"][relation["key"]]}
                    for point in figures["points"]
                ],
                "marks": _marks(relation["key"]) if marks else [],
                "lines": _lines(relation["key"]) if marks else [],
            },
        )
        for relation in figures["relations"]
    ]


def _marks(score: str) -> list[dict[str, Any]]:
    there = [mark for mark in MARKS if score in mark.scores]
    return [{"name": mark.system, "x": mark.perplexity, "y": mark.scores[score]} for mark in there]


def _lines(score: str) -> list[dict[str, Any]]:
    """The published systems without a perplexity, those of equal score together, the best first."""
    found: dict[float, list[str]] = {}
    for system in LINES:
        if score in system.scores:
            found.setdefault(system.scores[score], []).append(system.system)
    return [{"name": ", ".join(found[value]), "y": value} for value in sorted(found, reverse=True)]
