"""Newest stored results of several studies in one table, with a choice of scores. Computes no figures."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evaluation.protocols.facts import Evaluation
from evaluation.statistics.bootstrap import LEVEL
from turnwise.comparisons import protocols
from turnwise.judging.queries import judgments_by_study
from turnwise.reports.models import Report
from turnwise.reports.services import covers
from turnwise.studies.models import Study

# Number of scores shown by default, and at most. The page says if it leaves scores out.
DEFAULT_SCORES = 6
MAX_SCORES = 24
# As many as there are colours.
SCORES_PER_CHART = 3

Scale: TypeAlias = tuple[bool, float, float]
"""(is in percent, lowest, highest value in the unit shown)."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A score to tick.

    Attributes:
        value: value of the query parameter.
        title: title of the score.
        is_shown: whether it is ticked.
    """

    value: str
    title: str
    is_shown: bool


def selected_scores(keys: Sequence[str], wanted: Iterable[str], *, first: Iterable[str] = ()) -> list[str]:
    """The wanted keys, in order. If none is wanted, a default choice that includes `first`."""
    requested = {*wanted}
    if present := [key for key in keys if key in requested]:
        return present[:MAX_SCORES]
    few = sorted(keys, key=lambda key: key not in {*first})[:DEFAULT_SCORES]
    return [key for key in keys if key in few]


def group_by_scale(keys: Sequence[str], scales: Mapping[str, Scale]) -> list[list[str]]:
    """Group keys into charts: keys with the same scale, at most as many as there are colours."""
    by_scale: dict[Scale, list[str]] = {}
    for key in keys:
        by_scale.setdefault(scales[key], []).append(key)
    return [
        alike[start : start + SCORES_PER_CHART]
        for alike in by_scale.values()
        for start in range(0, len(alike), SCORES_PER_CHART)
    ]


@dataclass(frozen=True, slots=True)
class StudyReport:
    """A study's newest ready report.

    Attributes:
        pk: id of the study.
        study: name of the study in the comparison.
        code: the study's code.
        report: number of the report.
        computed: time of the computation, ISO 8601 in UTC.
        covers: the study's results_version that it covers.
        newest: the study's results_version now; greater if conversations have changed since.
        result: the stored result.
        asked: (number, subject) of each of the study's asks.
        is_stale: whether there are newer results; judgments count, though they raise no version.
    """

    pk: int
    study: str
    code: str
    report: int
    computed: str
    covers: int
    newest: int
    result: Mapping[str, Any]
    asked: Sequence[tuple[int, str]] = ()
    is_stale: bool = False

    @property
    def asks(self) -> list["AskFigures"]:
        """The study's asks with their figures."""
        asks = [self.result, *self.result.get("beside", ())]
        level = self.result.get("level", LEVEL)
        return [
            AskFigures(number, each.get("question_set", ""), about, each.get("level", level), each)
            for (number, about), each in zip(self.asked, asks, strict=False)
        ]


@dataclass(frozen=True, slots=True)
class AskFigures:
    """The figures of one ask of a study.

    Attributes:
        number: number of the ask in the study.
        question_set: key of the question set.
        about: subject of the ask.
        level: confidence level of the intervals.
        figures: `columns` and `bots`, as stored.
    """

    number: int
    question_set: str
    about: str
    level: float
    figures: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """Subject that shares a table: replies and responses share one; every other subject has its own."""
        return REPLIES if self.about in _OF_REPLIES else self.about


REPLIES = "reply"
_OF_REPLIES = ("partner_turn", "response")


def tables(reports: Sequence[StudyReport]) -> list[dict[str, Any]]:
    """Tables, one for all asks with the same questions and subject; ready for JSON.

    Returns:
        For each table `name`, `id` for addresses, `question_set`, `subject`, `headline`, `columns`, `levels`
        by study, and `rows`: a bot of a study, with its cells from the study's report and their basis.
    """
    by_set: dict[str, dict[str, Any]] = {}
    for report in reports:
        kind = report.result.get("evaluation", Evaluation.INTERACTIVE.value)
        for ask in report.asks:
            columns = ask.figures["columns"]
            # Question sets that users wrote may give different scores the same key.
            key = json.dumps([ask.question_set, ask.subject, columns], sort_keys=True)
            new = {
                "id": f"{ask.question_set}.{ask.subject}", "question_set": ask.question_set,
                "subject": ask.subject, "headline": ask.figures.get("headline"), "columns": columns,
                "levels": {}, "rows": [],
            }  # fmt: skip
            table = by_set.setdefault(key, new)
            table["levels"][report.study] = ask.level
            table["rows"] += [
                {"study": report.study, "kind": kind, "level": ask.level, **bot}
                for bot in ask.figures["bots"]
            ]
    return [table | {"name": f"studies-{n}"} for n, table in enumerate(by_set.values(), 1)]


def with_selected_scores(table: Mapping[str, Any], wanted: Iterable[str]) -> dict[str, Any]:
    """Restrict a table to the wanted scores, or to a default choice; `choices` lists all scores.

    Args:
        table: one of `tables`.
        wanted: scores of any table, each `ID:KEY`.
    """
    columns = table["columns"]
    values = [f"{table['id']}:{column['key']}" for column in columns]
    selected = {*selected_scores(values, wanted, first=[f"{table['id']}:{table['headline']}"])}
    indices = [index for index, value in enumerate(values) if value in selected]
    return dict(table) | {
        "columns": [columns[index] for index in indices],
        "rows": [row | {"cells": [row["cells"][index] for index in indices]} for row in table["rows"]],
        "choices": [
            Choice(value, column["title"], value in selected)
            for value, column in zip(values, columns, strict=True)
        ],
    }


def without_interval(table: Mapping[str, Any]) -> list[str]:
    """Reasons why scores of this table have no interval, as sentences."""
    return [
        f"{column['title']} of {row['bot']} in {row['study']}: {cell['undefined']}"
        for row in table["rows"]
        for column, cell in zip(table["columns"], row["cells"], strict=True)
        if "undefined" in cell
    ]


CSV_COLUMNS = (
    "study", "study_code", "bot", "score", "title", "percent", "value", "low", "high", "no_interval_because",
    "conversations", "labelled_replies", "labels", "workers",
    "report", "computed_at", "covers_results_version", "newest_results_version",
    "question_set", "ask", "about", "level",
)  # fmt: skip


def csv_rows(reports: Sequence[StudyReport]) -> Iterator[list[object]]:
    """One row per study, ask, bot and score, in the order of `CSV_COLUMNS`; unknown values are empty."""
    asks = ((report, ask) for report in reports for ask in report.asks)
    for report, ask in asks:
        for bot in ask.figures["bots"]:
            for column, cell in zip(ask.figures["columns"], bot["cells"], strict=True):
                yield [
                    report.study, report.code, bot["bot"], column["key"], column["title"], column["percent"],
                    cell["value"], cell.get("low"), cell.get("high"), cell.get("undefined", ""),
                    bot["conversations"], bot["turns"], bot["labels"], bot["workers"],
                    report.report, report.computed, report.covers, report.newest,
                    ask.question_set, ask.number, ask.about, ask.level,
                ]  # fmt: skip


def newest_reports(studies: Sequence[Study]) -> list[StudyReport]:
    """Newest ready reports of these studies, in order; studies without one are left out."""
    ready = Report.objects.filter(study__in=studies, state=Report.State.READY)
    newest = {report.study_id: report for report in ready.order_by("study_id", "-pk").distinct("study_id")}
    called, judged = protocols.study_names(studies), judgments_by_study()
    return [
        StudyReport(
            pk=study.pk,
            study=called[study.pk],
            code=study.code,
            report=newest[study.pk].pk,
            computed=f"{newest[study.pk].finished_at:%Y-%m-%dT%H:%M:%SZ}",
            covers=newest[study.pk].results_version,
            newest=study.results_version,
            result=newest[study.pk].result or {"columns": [], "bots": []},
            asked=[(ask.number, ask.about) for ask in study.work_asks],
            is_stale=not covers(newest[study.pk], study, judged.get(study.pk, 0)),
        )
        for study in studies
        if study.pk in newest
    ]
