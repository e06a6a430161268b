"""Outcomes of judged pairs: who is preferred, both bad, and items on which raters are split. Pure."""

from typing import Any

import numpy as np

from evaluation.questions import BOTH_BAD, Question, QuestionSet, Score, Term, has_choice
from evaluation.report.intervals import Terms, score_cells
from evaluation.report.label_columns import Judged
from evaluation.statistics.labels import BoolArray, IntArray


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
