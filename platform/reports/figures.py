"""The numbers of a study report, from its labelled turns. Pure: no database, no clock."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.bootstrap import LEVEL, RESAMPLES, Ratio, cluster_interval
from evaluation.interval import Undefined
from evaluation.labels import FloatArray
from evaluation.questions import Level, QuestionSet

# Fixed, so that the same labels always give the same intervals.
SEED = 20_010_997


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled bot turn: whose, in which conversation, by whom, how fast, and the answers."""

    bot: str
    dialogue: int
    rater: int
    latency_ms: int | None
    answers: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Column:
    """A score of the report: the share of a binary question, or the SSA."""

    key: str
    title: str
    weights: tuple[float, ...]


def columns_of(questions: QuestionSet) -> list[Column]:
    """One score per binary question; for the SSA set also their average."""
    asked = [question for question in questions.questions if question.level is Level.BINARY]
    titles = {"sensible": "Sensibleness", "specific": "Specificity"}
    columns = [
        Column(
            question.key,
            titles.get(question.key, question.wording),
            tuple(float(i == j) for j in range(len(asked))),
        )
        for i, question in enumerate(asked)
    ]
    if questions.key == "ssa":
        columns.append(Column("ssa", "SSA", (0.5, 0.5)))
    return columns


def study_figures(questions: QuestionSet, rows: Iterable[Judged]) -> dict[str, Any]:
    """Scores of each bot with intervals, in percent, and what they rest on.

    Intervals resample whole conversations (studentised cluster bootstrap), because the turns of one
    conversation resemble each other.
    """
    by_bot: dict[str, list[Judged]] = {}
    for row in rows:
        by_bot.setdefault(row.bot, []).append(row)
    columns = columns_of(questions)
    return {
        "columns": [{"key": column.key, "title": column.title} for column in columns],
        "bots": [_bot_figures(bot, by_bot[bot], questions, columns) for bot in sorted(by_bot)],
        "method": f"{LEVEL:.0%} intervals: studentised bootstrap over conversations, {RESAMPLES} resamples",
        "seed": SEED,
    }


def _bot_figures(
    bot: str, rows: Sequence[Judged], questions: QuestionSet, columns: Sequence[Column]
) -> dict[str, Any]:
    sums = _sums_per_dialogue(rows, questions)
    latencies = [row.latency_ms for row in rows if row.latency_ms is not None]
    return {
        "bot": bot,
        "conversations": len(sums),
        "turns": len(rows),
        "workers": len({row.rater for row in rows}),
        "latency_ms": round(float(np.median(latencies))) if latencies else None,
        "cells": [_cell(sums, column) for column in columns],
    }


def _sums_per_dialogue(rows: Sequence[Judged], questions: QuestionSet) -> FloatArray:
    """(k, q + 1): per conversation how often each binary question was answered yes, and its labels."""
    keys = [question.key for question in questions.questions if question.level is Level.BINARY]
    sums: dict[int, FloatArray] = {}
    for row in rows:
        answers = [*(float(row.answers.get(key) is True) for key in keys), 1.0]
        sums[row.dialogue] = sums.get(row.dialogue, 0.0) + np.array(answers)
    return np.array(list(sums.values()))


def _cell(sums: FloatArray, column: Column) -> dict[str, Any]:
    ratio = Ratio((*column.weights, 0.0), size=sums.shape[1] - 1)
    value = 100 * float(ratio(sums.sum(axis=0)[None])[0])
    interval = cluster_interval(sums, ratio, np.random.default_rng(SEED), method="studentised")
    if isinstance(interval, Undefined):
        return {"value": value, "undefined": interval.reason}
    return {"value": value, "low": max(0.0, 100 * interval.low), "high": min(100.0, 100 * interval.high)}
