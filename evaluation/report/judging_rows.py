"""From the rows of a judging study's bundle to what its report reads."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.protocols.facts import Design
from evaluation.questions import QuestionSet
from evaluation.report.answers import answer_times, coded_columns, days_given, text_columns
from evaluation.report.battery import Battery
from evaluation.report.breakdown import ContextFacts
from evaluation.report.judged import Judged
from evaluation.report.judging import JudgedItems

Row = dict[str, Any]


def judged_items(
    about: Mapping[str, Any],
    questions: QuestionSet,
    items: Iterable[Row],
    judgments: Iterable[Row],
    design: Design,
    lines: Sequence[int],
) -> JudgedItems:
    """The judgments of a study as `judging_figures` takes them.

    Args:
        about: the study, as study.json has it.
        questions: what was asked.
        items: rows of the table `items`.
        judgments: rows of the table `judgments`, in its order.
        design: which protocol the study was made by, and what it asks.
        lines: where in the table these judgments stand.

    Raises:
        ValueError: a judgment of an item that is not among the items; names both.
    """
    by_key = {row["item"]: row for row in items}
    given = list(judgments)
    numbers = numbers_of(by_key.values())
    of = items_of(given, by_key, "data/items.jsonl")
    judged = Judged(
        bot=np.array([item["system"] for item in of], dtype=object),
        dialogue=np.array([item["context"] for item in of], dtype=np.int64),
        reply=np.array([numbers[item["item"]] for item in of], dtype=np.int64),
        rater=np.array([row["rater"] for row in given], dtype=object),
        latency_ms=np.array([_number(item["latency_ms"]) for item in of], dtype=np.float64),
        answer_ms=answer_times(given),
        answers=coded_columns(questions, given),
        texts=text_columns(questions, given),
        day=days_given(given),
    )
    # Bundles of before these were kept have no such columns, and no such figure.
    judged_once = {item["item"]: item for item in of if item.get("remarks") is not None}.values()
    return JudgedItems(
        judged=judged,
        repetition=np.array([item["repetition"] for item in of], dtype=np.int64),
        # Bundles of before batteries have neither of the two.
        occasion=np.array([row.get("occasion") or 1 for row in given], dtype=np.int64),
        given=np.array(lines, dtype=np.int64),
        battery=Battery.from_json(battery) if (battery := about["judging"].get("battery")) else None,
        raters_wanted=about["judging"]["raters_per_item"],
        items=len(by_key),
        languages=about["languages"],
        remarked=Counter(item["system"] for item in judged_once),
        fallbacks=Counter(item["system"] for item in judged_once if item["fallback"]),
        contexts=_contexts(by_key.values()),
        contexts_of=_of_systems(by_key.values(), of_contexts=True),
        conversations_of=_of_systems(by_key.values(), of_contexts=False),
        design=design,
        items_per_worker=about["judging"]["batch_size"],
        third_rater=about["judging"]["third_rater"],
    )


def _of_systems(items: Iterable[Row], *, of_contexts: bool) -> dict[str, int]:
    """By system, to how many contexts it has a response, or how many of its conversations have an item."""
    found: dict[str, set[int]] = {}
    for row in items:
        own = found.setdefault(row["system"], set())
        if (row.get("context_turns") is not None) == of_contexts:
            own.add(row["context"])
    return {system: len(own) for system, own in found.items()}


def _contexts(items: Iterable[Row]) -> dict[int, ContextFacts]:
    """The contexts of responses; bundles of before they were described have none."""
    return {
        row["context"]: ContextFacts(
            name=row["name"],
            category=row["category"] or "",
            turns=row["context_turns"],
            consistency=bool(row["consistency"]),
            last=json.loads(row["said_before"])[-1],
        )
        for row in items
        if row.get("context_turns") is not None
    }


def items_of(judgments: Iterable[Row], by_key: Mapping[str, Row], file: str) -> list[Row]:
    """The item of each judgment; raises `ValueError` of one that the file does not have."""
    found = []
    for row in judgments:
        if row["item"] not in by_key:
            raise ValueError(f"a judgment of item {row['item']}, which {file} does not have.")
        found.append(by_key[row["item"]])
    return found


def numbers_of(items: Iterable[Row]) -> dict[str, int]:
    """By item, its number among the items of its context, from 1."""
    numbers: dict[str, int] = {}
    seen: dict[int, int] = {}
    for row in items:
        numbers[row["item"]] = seen[row["context"]] = seen.get(row["context"], 0) + 1
    return numbers


def _number(answer: float | None) -> float:
    return float("nan") if answer is None else float(answer)
