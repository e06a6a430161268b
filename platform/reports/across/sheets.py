"""Which charts a comparison has, and what each shows. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from reports.across.drawing import Sheet
from reports.across.published import MEENA_BASE
from reports.across.relation import SCORES

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
    scores = {key: SCORES[key] for key in ("sensible", "specific", "ssa")}
    return [Sheet("over-time", "history", {"rows": list(rows[-MOST_ROWS:]), "scores": scores})]


def of_relation(figures: Mapping[str, Any], *, marks: bool, percent: bool) -> list[Sheet]:
    """A plot of each score against the measure, if there are points.

    Args:
        figures: as `relation.relation_figures` gives them.
        marks: whether the published model stands in them, too; for perplexity only.
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
                "marks": [_mark(relation["key"])] if marks else [],
            },
        )
        for relation in figures["relations"]
    ]


def _mark(score: str) -> dict[str, Any]:
    return {"name": MEENA_BASE.system, "x": MEENA_BASE.perplexity, "y": MEENA_BASE.scores[score]}
