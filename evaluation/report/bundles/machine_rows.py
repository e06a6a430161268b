"""Conversion of the bundle rows of machine judges to the input of the report's assisted estimates."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from evaluation.machine_judges.judged import JudgedItems, PartyLabels
from evaluation.questions import QuestionSet
from evaluation.report.answers import coded_columns
from evaluation.report.assisted import JudgeLabels
from evaluation.report.bundles.judging_rows import noun_of

Row = Mapping[str, Any]
ANSWERED = "answered"


def judge_labels(
    ask: int,
    questions: QuestionSet,
    items: Sequence[Row],
    judgments: Sequence[Row],
    machine: Sequence[Row],
    excluded: Collection[str],
) -> Iterator[JudgeLabels]:
    """Yield the labels of each judge of one ask.

    Args:
        ask: number of the ask.
        questions: its question set.
        items: its rows of the table `items`.
        judgments: its rows of the table `judgments`.
        machine: its rows of the table `machine_labels`; answers by question key.
        excluded: pseudonyms of the workers who do not count in the primary analysis.

    Raises:
        ValueError: a label of an unknown item; names it.
    """
    number = {row["item"]: n for n, row in enumerate(items)}
    counted = [row for row in judgments if row["rater"] not in excluded and (row.get("occasion") or 1) == 1]
    raters = np.array([row["rater"] for row in counted], dtype=object)
    people = _labels(questions, counted, number, np.unique(raters, return_inverse=True)[1])
    clusters = np.array([row["context"] for row in items], dtype=np.int64)
    for _run, of_run in groupby(machine, lambda row: row["run"]):
        rows = list(of_run)
        answered = [row for row in rows if row["judgment"] == ANSWERED]
        draws = np.array([row["draw"] for row in answered], dtype=np.int64)
        judged = JudgedItems(
            questions,
            np.array([row["system"] for row in items], dtype=object),
            np.unique(clusters, return_inverse=True)[1],
            people,
            _labels(questions, answered, number, draws),
        )
        yield JudgeLabels(
            ask,
            questions.title,
            rows[0]["judge"],
            rows[0]["judge_fingerprint"],
            judged,
            noun_of(any(row.get("context_turns") is not None for row in items)),
            dict(sorted(Counter(row["judgment"] for row in rows).items())),
        )


def _labels(
    questions: QuestionSet, rows: Sequence[Row], number: Mapping[str, int], rater: Any
) -> PartyLabels:
    for row in rows:
        if row["item"] not in number:
            raise ValueError(f"a label of item {row['item']}, which data/items.jsonl does not have.")
    item = np.array([number[row["item"]] for row in rows], dtype=np.int64)
    return PartyLabels(item, coded_columns(questions, rows), rater)
