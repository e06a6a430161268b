"""Conversion of the bundle rows of machine judges to the input of the report's assisted estimates."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from evaluation.machine_judges.judged import JudgedItems, PartyLabels
from evaluation.machine_judges.model_answers import chances_of
from evaluation.machine_judges.orders import in_order_of_names, settled
from evaluation.questions import QuestionSet
from evaluation.report.answers import coded_columns
from evaluation.report.assisted import JudgeLabels
from evaluation.report.bundles.judging_rows import noun_of
from evaluation.report.item_draws import DrawnItems
from evaluation.report.studies.pairs import name_of
from evaluation.statistics.labels import AnyArray, FloatArray

Row = Mapping[str, Any]
ANSWERED = "answered"


def judge_labels(
    ask: int,
    questions: QuestionSet,
    items: Sequence[Row],
    judgments: Sequence[Row],
    machine: Sequence[Row],
    excluded: Collection[str],
    drawn: DrawnItems | None = None,
) -> Iterator[JudgeLabels]:
    """Yield the labels of each judge of one ask.

    Args:
        ask: number of the ask.
        questions: its question set.
        items: its rows of the table `items`, or of `pairs`.
        judgments: its rows of the table `judgments`, or of `pair_judgments`.
        machine: its rows of the table `machine_labels`; answers by question key.
        excluded: pseudonyms of the workers who do not count in the primary analysis.
        drawn: items that were drawn for people; None: none were.

    Raises:
        ValueError: a label of an unknown item; names it.
    """
    counted = [row for row in judgments if row["rater"] not in excluded and (row.get("occasion") or 1) == 1]
    raters = np.array([row["rater"] for row in counted], dtype=object)
    compared = _Compared(questions, items)
    people = compared.labels(counted, np.unique(raters, return_inverse=True)[1])
    for _run, of_run in groupby(machine, lambda row: row["run"]):
        rows = list(of_run)
        used = [row for row in rows if row["judgment"] == ANSWERED and not row.get("has_seen")]
        draws = np.array([row["draw"] for row in used], dtype=np.int64)
        yield JudgeLabels(
            ask,
            questions.title,
            rows[0]["judge"],
            rows[0]["judge_fingerprint"],
            compared.judged(people, compared.labels(used, draws, _chances(questions, used)), drawn),
            compared.noun,
            dict(sorted(Counter(row["judgment"] for row in rows).items())),
            len({row["item"] for row in rows if row.get("has_seen")}),
            drawn.facts if drawn else None,
        )


def _chances(questions: QuestionSet, rows: Sequence[Row]) -> Mapping[str, FloatArray]:
    stored = [row.get("probabilities") for row in rows]
    return chances_of(questions, [json.loads(each) if each else None for each in stored])


class _Compared:
    """Items of one ask, as the labels of both parties name them."""

    def __init__(self, questions: QuestionSet, items: Sequence[Row]) -> None:
        self._questions, self._items = questions, items
        self._number = {row["item"]: n for n, row in enumerate(items)}
        self._is_of_pairs = any("first_system" in row for row in items)

    @property
    def noun(self) -> str:
        """Noun for what items share."""
        if self._is_of_pairs:
            return noun_of(any(row["said_before"] != "[]" for row in self._items))
        return noun_of(any(row.get("context_turns") is not None for row in self._items))

    def labels(
        self, rows: Sequence[Row], rater: Any, chances: Mapping[str, FloatArray] | None = None
    ) -> PartyLabels:
        """Labels as columns; of pairs in the order of the systems' names."""
        for row in rows:
            if row["item"] not in self._number:
                raise ValueError(f"a label of item {row['item']}, which data/items.jsonl does not have.")
        item = np.array([self._number[row["item"]] for row in rows], dtype=np.int64)
        given = PartyLabels(
            item,
            coded_columns(self._questions, rows),
            rater,
            np.array([bool(row.get("sides_swapped")) for row in rows], dtype=np.bool_),
            chances or {},
        )
        if not self._is_of_pairs:
            return given
        reverse = [row["first_system"] > row["second_system"] for row in self._items]
        return in_order_of_names(self._questions, given, np.array(reverse, dtype=np.bool_))

    def judged(self, people: PartyLabels, judge: PartyLabels, drawn: DrawnItems | None) -> JudgedItems:
        """The items with labels of both."""
        clusters = np.array([row["context"] for row in self._items], dtype=np.int64)
        return JudgedItems(
            self._questions,
            np.array([self._system(row) for row in self._items], dtype=object),
            np.unique(clusters, return_inverse=True)[1],
            people,
            settled(self._questions, judge) if self._is_of_pairs else judge,
            judge if self._is_of_pairs else None,
            drawn.of(row["item"] for row in self._items) if drawn else None,
            self._sides() if self._is_of_pairs else None,
        )

    def _sides(self) -> tuple[AnyArray, AnyArray]:
        """Names of both systems of each pair, in their order."""
        names = [sorted((row["first_system"], row["second_system"])) for row in self._items]
        sides = np.array(names, dtype=object).reshape(-1, 2)
        return sides[:, 0], sides[:, 1]

    def _system(self, row: Row) -> str:
        if self._is_of_pairs:
            return name_of(row["first_system"], row["second_system"])
        return str(row["system"])
