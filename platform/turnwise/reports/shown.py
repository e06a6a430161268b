"""What the page of a report shows beside its numbers: charts, and what was published."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

from evaluation.printed import figure
from evaluation.protocols import published_beside
from turnwise.charts.interactive.plots import plot
from turnwise.charts.names import kind_and_ask
from turnwise.questions.resolving import question_set
from turnwise.reports.behind import behind
from turnwise.reports.models import Chart, Report
from turnwise.studies.models import Study


def charts_of(study: Study, report: Report | None) -> dict[int, dict[str, Chart]]:
    """The stored drawings by the number of their ask, and there by kind as templates name it.

    Each has its numbers as `plot`, if the page draws its kind.
    """
    found: dict[int, dict[str, Chart]] = defaultdict(dict)
    if report is None or not report.result:
        return found
    results, where = [report.result, *report.result.get("beside", ())], behind(study)
    for chart in report.charts.all():
        kind, ask = kind_and_ask(chart.name)
        chart.plot = plot(kind, results[ask], partial(where, ask=ask))  # type: ignore[attr-defined]
        found[ask][kind.replace("-", "_")] = chart
    return found


def published_of(study: Study, key: str) -> dict[str, Any] | None:
    """Published results that those of the study with the questions of this key can be seen beside.

    Titles of the scores and rows of them, and how far the publication's raters agreed about each question.
    """
    protocol = published_beside(study.protocol, key)
    if protocol is None:
        return None
    questions = question_set(key)
    scores = [
        score
        for score in questions.scores
        if any(score.key in system.scores for system in protocol.published)
    ]
    if not scores:
        return None
    columns = [[system.scores.get(score.key) for system in protocol.published] for score in scores]
    cells = zip(*map(_alike, columns), strict=True)
    rows = list(zip((system.system for system in protocol.published), cells, strict=True))
    agreed = protocol.agreement or {}
    agreement = [
        (question.wording, agreed[question.key]) for question in questions.questions if question.key in agreed
    ]
    titles = [score.title for score in scores]
    return {"protocol": protocol, "titles": titles, "rows": rows, "agreement": agreement}


def _alike(column: Sequence[float | None]) -> list[str]:
    """The figures of a column with as many decimals as one of them has, 2 at most."""
    decimals = max(len(f"{value:.2f}".rstrip("0").partition(".")[2]) for value in column if value is not None)
    return ["" if value is None else figure(value, decimals) for value in column]
