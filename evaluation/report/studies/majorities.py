"""Majorities of several raters per item: scores of systems, preferences of pairs, split items. Pure."""

from typing import Any

import numpy as np

from evaluation.questions import (
    BOTH_BAD,
    Combine,
    Question,
    QuestionSet,
    Score,
    Term,
    has_choice,
    term_values,
)
from evaluation.report.intervals import TERMS, Terms, cells, of_bots, score_cells
from evaluation.report.label_columns import Judged
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray


def majority_scores(questions: QuestionSet, judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """Compute by system the share of items for which more than half of the raters say yes, in percent.

    Empty if a score is a mean of numbers, since there is no majority between yes and no then.
    """
    if not all(score.is_percent for score in questions.scores):
        return []
    columns = [_majority_cells(questions, score, judged, terms) for score in questions.scores]
    return [
        {"bot": bot, "cells": [of_bots.get(bot, {"value": None}) for of_bots in columns]}
        for bot in judged.bots
    ]


def _majority_cells(
    questions: QuestionSet, score: Score, judged: Judged, terms: Terms
) -> dict[str, dict[str, Any]]:
    """By system, the score over items, each with the majority of its raters."""
    _, first, item = np.unique(judged.reply_code, return_index=True, return_inverse=True)
    votes = [_votes(values, item, len(first)) for values in term_values(questions, score, judged.answers)]
    total: FloatArray = np.sum([np.where(np.isnan(share), np.nan, share > 0.5) for share in votes], axis=0)
    values = total / len(votes) if score.combine is Combine.MEAN else total
    items = judged.where(first)
    return cells(questions, score, of_bots(items, values, single_raters=False), terms)


def _votes(values: FloatArray, item: IntArray, items: int) -> FloatArray:
    """(items,) share of yes among the answers to each item; NaN without answers."""
    answered = ~np.isnan(values)
    counts = np.bincount(item[answered], minlength=items)
    yes = np.bincount(item[answered], values[answered], items)
    shares: FloatArray = np.divide(yes, counts, out=np.full(items, np.nan), where=counts > 0)
    return shares


def both_bad_shares(
    questions: QuestionSet, question: Question, judged: Judged, terms: Terms
) -> dict[str, dict[str, Any]]:
    """Number of judgments that both are bad, which count as ties, and their share in percent, by pair.

    Empty if the question has no such answer.
    """
    if question.index_of(BOTH_BAD) is None:
        return {}
    is_bad = has_choice(question, judged.answers[question.key], BOTH_BAD) == 1
    shares = score_cells(questions, Score(BOTH_BAD, BOTH_BAD, (Term(question.key, BOTH_BAD),)), judged, terms)
    return {
        pair: {"both_bad": int(is_bad[judged.bot == pair].sum()), "both_bad_share": share}
        for pair, share in shares.items()
    }


def split_items(item: IntArray, outcome: IntArray) -> BoolArray:
    """(n,) true if equally many raters of the item prefer either side, without counting ties.

    Items with nothing but ties do not count: their raters agree.
    """
    for_first = np.bincount(item[outcome == 0], minlength=int(item.max(initial=-1)) + 1)
    for_second = np.bincount(item[outcome == 1], minlength=len(for_first))
    split: BoolArray = ((for_first == for_second) & (for_first > 0))[item]
    return split
