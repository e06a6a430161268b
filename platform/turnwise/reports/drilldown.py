"""Where what lies behind a mark of a chart can be read: conversations or items, narrowed to it.

What the page of a report shows beside its numbers: charts, and what was published.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from evaluation.files.writing import figure
from evaluation.protocols import published_beside
from turnwise.charts.interactive_plots import plot
from turnwise.charts.layout import kind_and_ask
from turnwise.charts.marks import Behind
from turnwise.labels.explorer import score_key, scores_of
from turnwise.questions.question_sets import question_set
from turnwise.reports.answers import bots_called
from turnwise.reports.models import Chart, Report
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of


def behind(study: Study) -> Behind:
    """Of this study."""
    task = task_of(study)
    if task.has_conversations:
        return _Conversations(study)
    if isinstance(task, ReportedTask):
        return _Items(study, reverse(task.read_at, args=[study.pk]))
    return _nothing


class _Conversations:
    def __init__(self, study: Study) -> None:
        self._address = reverse("labels:dialogues", args=[study.pk])
        bots = list(study.study_bots.values_list("bot_id", "bot__title", "bot__name"))
        called = bots_called(study, bots)
        self._slugs = {called[pk]: name for pk, _title, name in bots}

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # What is no bot of the study, such as people or the best of all, narrows nothing.
        wanted = {
            "bot": self._slugs.get(system, ""),
            "replies": str(reply) if reply > 1 else "",
            "score": score_key(ask, score) if score else "",
        }
        return _with(self._address, wanted)


class _Items:
    def __init__(self, study: Study, address: str) -> None:
        self._address = address
        self._scores = scores_of(study)

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        # Items are listed by the answers to one question: of a score, the first that it is made of.
        _number, found = self._scores.get(score_key(ask, score), (ask, None))
        made_of = found.terms[0].question if found else ""
        wanted = {"ask": str(ask) if ask else "", "question": question or made_of, "system": system}
        return _with(self._address, wanted)


def _nothing(system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0) -> str:
    return ""


def _with(address: str, wanted: Mapping[str, str]) -> str:
    given = {name: value for name, value in wanted.items() if value}
    return f"{address}?{urlencode(given)}" if given else address


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
