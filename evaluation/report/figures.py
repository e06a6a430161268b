"""The numbers of a study report, from its labelled replies. Pure: no database, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.bootstrap import LEVEL, RESAMPLES
from evaluation.estimates import estimates
from evaluation.interval import Interval, Method, Undefined
from evaluation.means import means
from evaluation.questions import Level, Question, QuestionSet
from evaluation.report.comparisons import comparisons
from evaluation.report.consensus import agreement
from evaluation.report.judged import Judged
from evaluation.report.raters import rater_figures

# Fixed, so that the same labels always give the same intervals.
SEED = 20_010_997
METHOD: Method = "studentised"
# Replies at one place of the conversation: many small samples, whose intervals need fewer resamples.
RESAMPLES_BY_REPLY = 2_000


@dataclass(frozen=True, slots=True)
class Column:
    """A score of the report: a share in percent, a mean rating, or the SSA in percent."""

    key: str
    title: str
    factor: float
    low: float
    high: float

    def cell(self, value: float, interval: Interval | Undefined) -> dict[str, Any]:
        """The score as stored and shown; an interval never leaves the scale."""
        shown: dict[str, Any] = {"value": self.factor * value}
        if isinstance(interval, Undefined):
            return shown | {"undefined": interval.reason}
        ends = interval.scaled(self.factor)
        return shown | {"low": max(self.low, ends.low), "high": min(self.high, ends.high)}


def columns_of(questions: QuestionSet) -> list[Column]:
    """One score per binary, ordinal or interval question; for the SSA set also their average."""
    columns = [_column(question) for question in scored(questions)]
    if questions.key == "ssa":
        columns.append(Column("ssa", "SSA", 100, 0, 100))
    return columns


def scored(questions: QuestionSet) -> list[Question]:
    """The questions whose answers have a mean: yes or no, or numbers."""
    return [question for question in questions.questions if _has_mean(question)]


def _has_mean(question: Question) -> bool:
    numbers = all(isinstance(choice.value, int) for choice in question.choices)
    return numbers and question.level is not Level.NOMINAL


def _column(question: Question) -> Column:
    titles = {"sensible": "Sensibleness", "specific": "Specificity"}
    title = titles.get(question.key, question.wording)
    if question.level is Level.BINARY:
        return Column(question.key, title, 100, 0, 100)
    ends = [float(choice.value) for choice in question.choices]
    return Column(question.key, title, 1, min(ends), max(ends))


def study_figures(
    questions: QuestionSet, judged: Judged, *, set_aside: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Everything that the labels tell, ready to be stored as JSON.

    Intervals resample whole conversations (studentised cluster bootstrap), because the turns of one
    conversation resemble each other.

    Args:
        questions: what was asked.
        judged: the labels of finished conversations.
        set_aside: by worker whom an admin has set aside, the reason. Their labels are in every number;
            the scores without them stand beside.
    """
    columns = columns_of(questions)
    return {
        "columns": [{"key": c.key, "title": c.title, "percent": c.factor == 100} for c in columns],
        "bots": bot_scores(questions, judged),
        "comparisons": comparisons(questions, judged, np.random.default_rng(SEED)),
        "by_reply": scores_by_reply(questions, judged),
        "agreement": agreement(scored(questions), judged, np.random.default_rng(SEED)),
        "raters": rater_figures(questions, judged),
        "without": scores_without(questions, judged, set_aside or {}),
        "method": f"{LEVEL:.0%} intervals: {METHOD} bootstrap over conversations, {RESAMPLES} resamples",
        "seed": SEED,
    }


def bot_scores(questions: QuestionSet, judged: Judged) -> list[dict[str, Any]]:
    """The scores of each bot, in the order of their names, and what they rest on."""
    cells = _cells(questions, judged, RESAMPLES)
    return [_what_it_rests_on(bot, judged.of_bot(bot)) | {"cells": cells[bot]} for bot in judged.bots]


def _what_it_rests_on(bot: str, judged: Judged) -> dict[str, Any]:
    return {
        "bot": bot,
        "conversations": len(np.unique(judged.dialogue)),
        "turns": judged.replies,
        "labels": len(judged),
        "workers": len(judged.labels_of_raters),
    }


def _cells(questions: QuestionSet, judged: Judged, resamples: int) -> dict[str, list[dict[str, Any]]]:
    """By bot, a cell for each column."""
    if not len(judged):
        return {}
    columns = columns_of(questions)
    cells: dict[str, list[dict[str, Any]]] = {bot: [] for bot in judged.bots}
    rng = np.random.default_rng(SEED)
    if questions.key == "ssa":
        for bot, found in estimates(judged.labels, rng, method=METHOD, resamples=resamples).items():
            sensible, specific, both = columns
            cells[str(bot)] = [
                sensible.cell(found.score.sensibleness, found.sensibleness),
                specific.cell(found.score.specificity, found.specificity),
                both.cell(found.score.ssa, found.ssa),
            ]
        return cells
    for column in columns:
        answered = judged.where(~np.isnan(judged.answers[column.key]))
        values = answered.answers[column.key]
        of_bots = means(answered.bot, answered.dialogue, values, rng, resamples=resamples, method=METHOD)
        for bot in cells:
            mean = of_bots.get(bot)
            cells[bot].append(column.cell(mean.value, mean.interval) if mean else {"value": None})
    return cells


def scores_by_reply(questions: QuestionSet, judged: Judged) -> list[dict[str, Any]]:
    """By bot, the scores of its first reply of all conversations, of its second, and so on."""
    by_bot: dict[str, list[dict[str, Any]]] = {bot: [] for bot in judged.bots}
    for reply in np.unique(judged.reply).tolist():
        there = judged.where(judged.reply == reply)
        for bot, cells in _cells(questions, there, RESAMPLES_BY_REPLY).items():
            labels = there.labels_of_bots[bot]
            by_bot[bot].append({"reply": reply, "labels": labels, "cells": cells})
    return [{"bot": bot, "replies": replies} for bot, replies in by_bot.items()]


def scores_without(
    questions: QuestionSet, judged: Judged, set_aside: Mapping[str, str]
) -> dict[str, Any] | None:
    """The scores without the workers who were set aside, and who that is; None if nobody was."""
    if not set_aside:
        return None
    counts = {worker: judged.labels_of_raters.get(worker, 0) for worker in sorted(set_aside)}
    kept = judged.where(~np.isin(judged.rater, list(set_aside)))
    return {
        "workers": [
            {"worker": worker, "reason": set_aside[worker], "labels": labels}
            for worker, labels in counts.items()
        ],
        "bots": bot_scores(questions, kept),
    }
