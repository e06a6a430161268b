"""Newest stored results of several studies in one table. Pure: nothing is computed again."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.protocols.facts import Evaluation


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
    is_stale: bool = False


def tables(reports: Sequence[Reported]) -> list[dict[str, Any]]:
    """One table for all studies with the same columns: {"columns", "rows", "name"}; ready for JSON.

    A row is a bot of a study: its cells as the study's report has them, and what they rest on.
    """
    found: dict[str, dict[str, Any]] = {}
    for report in reports:
        columns = report.result["columns"]
        # Sets of one's own may name their scores alike and mean others.
        key = json.dumps([report.result.get("question_set"), columns], sort_keys=True)
        table = found.setdefault(key, {"columns": columns, "rows": []})
        kind = report.result.get("evaluation", Evaluation.INTERACTIVE.value)
        table["rows"] += [{"study": report.study, "kind": kind, **bot} for bot in report.result["bots"]]
    return [table | {"name": f"studies-{n}"} for n, table in enumerate(found.values(), 1)]


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
)  # fmt: skip


def csv_rows(reports: Sequence[Reported]) -> Iterator[list[object]]:
    """One row per study, bot and score, in the order of `CSV_COLUMNS`; unknown values are empty."""
    for report in reports:
        for bot in report.result["bots"]:
            for column, cell in zip(report.result["columns"], bot["cells"], strict=True):
                yield [
                    report.study, report.code, bot["bot"], column["key"], column["title"], column["percent"],
                    cell["value"], cell.get("low"), cell.get("high"), cell.get("undefined", ""),
                    bot["conversations"], bot["turns"], bot["labels"], bot["workers"],
                    report.report, report.computed, report.covers, report.newest,
                ]  # fmt: skip
