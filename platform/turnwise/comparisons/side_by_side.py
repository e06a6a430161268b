"""Newest stored results of several studies in one table. Pure: nothing is computed again.

Which of many scores a page shows. Pure.

The newest stored results of studies.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evaluation.protocols.facts import Evaluation
from evaluation.statistics.bootstrap import LEVEL
from turnwise.comparisons import protocols
from turnwise.judging.queries import judgments_given
from turnwise.reports.models import Report
from turnwise.reports.services import covers
from turnwise.studies.models import Study

# So many are shown of a set before anybody chooses, and at most; no page leaves scores out without saying so.
SHOWN_FIRST = 6
MOST_PICKED = 24
# As many as there are colours.
MOST_LINES = 3

Scale: TypeAlias = tuple[bool, float, float]
"""Whether in percent, the lowest and the highest as shown."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A score to tick.

    Attributes:
        value: what the address says of it.
        title: what it is called.
        is_shown: whether it is ticked.
    """

    value: str
    title: str
    is_shown: bool


def picked(keys: Sequence[str], wanted: Iterable[str], *, first: Iterable[str] = ()) -> list[str]:
    """Those of the keys that are wanted, in their order; before anybody chose, a few, `first` among them."""
    chosen = {*wanted}
    if found := [key for key in keys if key in chosen]:
        return found[:MOST_PICKED]
    few = sorted(keys, key=lambda key: key not in {*first})[:SHOWN_FIRST]
    return [key for key in keys if key in few]


def by_scale(keys: Sequence[str], scales: Mapping[str, Scale]) -> list[list[str]]:
    """The keys of each chart: those that share an axis together, no more than there are colours."""
    found: dict[Scale, list[str]] = {}
    for key in keys:
        found.setdefault(scales[key], []).append(key)
    return [
        alike[start : start + MOST_LINES]
        for alike in found.values()
        for start in range(0, len(alike), MOST_LINES)
    ]


@dataclass(frozen=True, slots=True)
class Reported:
    """A study's newest ready report.

    Attributes:
        pk: id of the study.
        study: what the study is called.
        code: the study's code.
        report: number of the report.
        computed: when it was computed, ISO 8601 in UTC.
        covers: the study's results_version that it covers.
        newest: the study's results_version now; greater if conversations have changed since.
        result: as stored.
        asked: of everything that the study asked about what was said, its number, and what it was about.
        is_stale: whether anything that the study's exports show is newer: a judgment raises no version.
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
    def asks(self) -> list["OfAsk"]:
        """Everything that the study asked about what was said, with its figures."""
        asks = [self.result, *self.result.get("beside", ())]
        level = self.result.get("level", LEVEL)
        return [
            OfAsk(number, each.get("question_set", ""), about, each.get("level", level), each)
            for (number, about), each in zip(self.asked, asks, strict=False)
        ]


@dataclass(frozen=True, slots=True)
class OfAsk:
    """The figures of one ask of a study.

    Attributes:
        number: which of the study's asks it is.
        question_set: key of the questions.
        about: what they are about.
        level: of the intervals.
        figures: `columns` and `bots`, as stored.
    """

    number: int
    question_set: str
    about: str
    level: float
    figures: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """What can stand in one table: replies in conversations and to contexts; all else by itself."""
        return REPLIES if self.about in _OF_REPLIES else self.about


REPLIES = "reply"
_OF_REPLIES = ("partner_turn", "response")


def tables(reports: Sequence[Reported]) -> list[dict[str, Any]]:
    """One table for all asks of the same questions about the same: every bot of each study; ready for JSON.

    Returns:
        Each `name`, `id` for addresses, `question_set`, `subject`, `headline`, `columns`, `levels` by study,
        and `rows`: a bot of a study, its cells as the study's report has them, and what they rest on.
    """
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        kind = report.result.get("evaluation", Evaluation.INTERACTIVE.value)
        for ask in report.asks:
            columns = ask.figures["columns"]
            # Sets of one's own may name their scores alike and mean others.
            key = json.dumps([ask.question_set, ask.subject, columns], sort_keys=True)
            new = {
                "id": f"{ask.question_set}.{ask.subject}", "question_set": ask.question_set,
                "subject": ask.subject, "headline": ask.figures.get("headline"), "columns": columns,
                "levels": {}, "rows": [],
            }  # fmt: skip
            table = found.setdefault(key, new)
            table["levels"][report.study] = ask.level
            table["rows"] += [
                {"study": report.study, "kind": kind, "level": ask.level, **bot}
                for bot in ask.figures["bots"]
            ]
    return [table | {"name": f"studies-{n}"} for n, table in enumerate(found.values(), 1)]


def narrowed(table: Mapping[str, Any], wanted: Iterable[str]) -> dict[str, Any]:
    """The table with those of its scores that somebody chose to see, or a few; `choices` has them all.

    Args:
        table: one of `tables`.
        wanted: scores of any table, each `ID:KEY`.
    """
    columns = table["columns"]
    values = [f"{table['id']}:{column['key']}" for column in columns]
    shown = {*picked(values, wanted, first=[f"{table['id']}:{table['headline']}"])}
    kept = [index for index, value in enumerate(values) if value in shown]
    return dict(table) | {
        "columns": [columns[index] for index in kept],
        "rows": [row | {"cells": [row["cells"][index] for index in kept]} for row in table["rows"]],
        "choices": [
            Choice(value, column["title"], value in shown)
            for value, column in zip(values, columns, strict=True)
        ],
    }


def without_interval(table: Mapping[str, Any]) -> list[str]:
    """Why scores of this table have no interval, each reason in a sentence."""
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


def csv_rows(reports: Sequence[Reported]) -> Iterator[list[object]]:
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


def newest_reports(studies: Sequence[Study]) -> list[Reported]:
    """The newest ready reports of these studies, in their order; those without one are absent."""
    ready = Report.objects.filter(study__in=studies, state=Report.State.READY)
    newest = {report.study_id: report for report in ready.order_by("study_id", "-pk").distinct("study_id")}
    called, judged = protocols.names(studies), judgments_given()
    return [
        Reported(
            pk=study.pk,
            study=called[study.pk],
            code=study.code,
            report=newest[study.pk].pk,
            computed=f"{newest[study.pk].finished_at:%Y-%m-%dT%H:%M:%SZ}",
            covers=newest[study.pk].results_version,
            newest=study.results_version,
            result=newest[study.pk].result or {"columns": [], "bots": []},
            asked=[(ask.number, ask.about) for ask in study.asked],
            is_stale=not covers(newest[study.pk], study, judged.get(study.pk, 0)),
        )
        for study in studies
        if study.pk in newest
    ]
