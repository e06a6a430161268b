"""Additions to the numbers on a report's page: charts with links to their data, and published results.

The link of a chart's mark leads to the conversations or items behind it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from evaluation.files.writing import figure
from evaluation.protocols import protocol_with_scores
from turnwise.charts.interactive_plots import plot
from turnwise.charts.layout import parse_chart_name
from turnwise.charts.marks import DrilldownLink
from turnwise.labels.explorer import score_key, scores_of
from turnwise.questions.question_sets import question_set
from turnwise.reports.answers import unique_bot_names
from turnwise.reports.models import Chart, Report
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of


def drilldown_link(study: Study) -> DrilldownLink:
    """Links from the marks of this study's charts to conversations or items."""
    task = task_of(study)
    if task.has_conversations:
        return _ConversationLinks(study)
    if isinstance(task, ReportedTask):
        return _ItemLinks(study, reverse(task.read_at, args=[study.pk]))
    return _no_link


class _ConversationLinks:
    def __init__(self, study: Study) -> None:
        self._address = reverse("labels:dialogues", args=[study.pk])
        bots = list(study.study_bots.values_list("bot_id", "bot__title", "bot__name"))
        called = unique_bot_names(study, bots)
        self._slugs = {called[pk]: name for pk, _title, name in bots}

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # Other systems, such as people, do not filter the list.
        wanted = {
            "bot": self._slugs.get(system, ""),
            "replies": str(reply) if reply > 1 else "",
            "score": score_key(ask, score) if score else "",
        }
        return _with_query(self._address, wanted)


class _ItemLinks:
    def __init__(self, study: Study, address: str) -> None:
        self._address = address
        self._scores = scores_of(study)

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # The list of items filters by one question: for a score, by its first term.
        _number, found = self._scores.get(score_key(ask, score), (ask, None))
        made_of = found.terms[0].question if found else ""
        wanted = {"ask": str(ask) if ask else "", "question": question or made_of, "system": system}
        return _with_query(self._address, wanted)


def _no_link(system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0) -> str:
    return ""


def _with_query(address: str, wanted: Mapping[str, str]) -> str:
    given = {name: value for name, value in wanted.items() if value}
    return f"{address}?{urlencode(given)}" if given else address


def charts_of(study: Study, report: Report | None) -> dict[int, dict[str, Chart]]:
    """Stored charts of a report, by number of the ask and by kind as templates name it.

    Each chart gets a function `plot` with its numbers, None if the page's script does not draw its kind. The
    template calls it, so that a cached part of the page costs nothing.
    """
    found: dict[int, dict[str, Chart]] = defaultdict(dict)
    if report is None or not report.result:
        return found
    results, where = [report.result, *report.result.get("beside", ())], drilldown_link(study)
    for chart in report.charts.all():
        kind, ask = parse_chart_name(chart.name)
        chart.plot = partial(plot, kind, results[ask], partial(where, ask=ask))  # type: ignore[attr-defined]
        found[ask][kind.replace("-", "_")] = chart
    return found


def published_of(study: Study, key: str) -> dict[str, Any] | None:
    """Published results comparable with the study's, for the question set of this key; None without any.

    Has titles and rows of scores, and the agreement of the publication's raters on each question.
    """
    protocol = protocol_with_scores(study.protocol, key)
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
    cells = zip(*map(_with_equal_decimals, columns), strict=True)
    rows = list(zip((system.system for system in protocol.published), cells, strict=True))
    agreed = protocol.agreement or {}
    agreement = [
        (question.wording, agreed[question.key]) for question in questions.questions if question.key in agreed
    ]
    titles = [score.title for score in scores]
    return {"protocol": protocol, "titles": titles, "rows": rows, "agreement": agreement}


def _with_equal_decimals(column: Sequence[float | None]) -> list[str]:
    """Figures of a column, all with the same number of decimals: as many as needed, 2 at most."""
    decimals = max(len(f"{value:.2f}".rstrip("0").partition(".")[2]) for value in column if value is not None)
    return ["" if value is None else figure(value, decimals) for value in column]
