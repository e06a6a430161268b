"""Newest stored results of several studies in one table. Pure: nothing is computed again."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.bootstrap import LEVEL
from evaluation.protocols.facts import Evaluation
from turnwise.comparisons.picking import Choice, picked


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
