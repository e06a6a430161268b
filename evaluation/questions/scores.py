"""Answers as numbers, and the values of a question set's scores for each label.

A number stays a number, and yes or no is 1 or 0. A name is coded as the number of its choice, from 0. A list
of choices is the sum of 2 to the power of their numbers, exact in a double for all permitted numbers of
choices. Free text and missing answers are NaN.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from evaluation.questions.parts import (
    FIRST,
    SECOND,
    Answer,
    Combine,
    Kind,
    Level,
    Question,
    Scalar,
    Score,
    Term,
)
from evaluation.questions.schema import Declaration


def coded_answer(question: Question, answer: Answer | None) -> float:
    """A stored answer as a number.

    Raises:
        ValueError: an answer that the question does not take; names it.
    """
    if answer is None or question.kind is Kind.TEXT:
        return math.nan
    if isinstance(answer, list) != (question.kind is Kind.SEVERAL):
        raise ValueError(f"{answer!r} is not an answer to the question '{question.key}'.")
    if isinstance(answer, list):
        return float(sum(2 ** _number_of(question, each) for each in answer))
    number = _number_of(question, answer)
    return float(number if question.level is Level.NOMINAL else answer)


def coded_answers(question: Question, answers: Iterable[Answer | None]) -> NDArray[np.float64]:
    """Stored answers as numbers.

    Returns:
        (n,) numbers as from `coded_answer`, which also documents `ValueError`.
    """
    return np.array([coded_answer(question, answer) for answer in answers], dtype=np.float64)


def has_choice(question: Question, codes: NDArray[np.float64], choice: Scalar) -> NDArray[np.float64]:
    """Find the labels with a choice.

    Args:
        question: with choices, of which one or several may be given.
        codes: (n,) as `coded_answers` gives them.
        choice: one of the question's.

    Returns:
        (n,) 1 where the answer is, or has, the choice, else 0; NaN where there is no answer.
    """
    if question.kind is not Kind.SEVERAL:
        is_chosen = codes == coded_answer(question, choice)
    else:
        is_chosen = np.floor(np.nan_to_num(codes) / 2.0 ** _number_of(question, choice)) % 2 == 1
    return np.where(np.isnan(codes), np.nan, is_chosen)


def side_outcomes(question: Question, codes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find which side of a pair each label prefers.

    Args:
        question: one that compares the sides.
        codes: (n,) as `coded_answers` gives them.

    Returns:
        (n,) 0 if the side named first is preferred, 1 if the second is, 2 for a tie or if both are bad.
    """
    sides = [has_choice(question, codes, side) == 1 for side in (FIRST, SECOND)]
    return np.select(sides, [0, 1], 2).astype(np.int64)


def _number_of(question: Question, value: Scalar) -> int:
    number = question.index_of(value)
    if number is None:
        raise ValueError(f"{value!r} is not an answer to the question '{question.key}'.")
    return number


def score_values(
    questions: Declaration, score: Score, answers: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Compute the score of each label: a share in [0, 1], or points.

    Args:
        questions: the question set.
        score: one of its scores.
        answers: by question key, (n,) results of `coded_answers`.

    Returns:
        (n,) numbers; NaN where an answer is missing.
    """
    values = [_term_values(questions, term, answers[term.question]) for term in score.terms]
    total = sum(values[1:], values[0])
    return total / len(values) if score.combine is Combine.MEAN else total


def term_values(
    questions: Declaration, score: Score, answers: Mapping[str, NDArray[np.float64]]
) -> list[NDArray[np.float64]]:
    """The terms of a score for each label.

    Args:
        questions: to which the score belongs.
        score: its terms are combined later.
        answers: by question key, (n,) results of `coded_answers`.

    Returns:
        For each term (n,): shares in [0, 1], or points; NaN where there is no answer.
    """
    return [_term_values(questions, term, answers[term.question]) for term in score.terms]


def _term_values(questions: Declaration, term: Term, codes: NDArray[np.float64]) -> NDArray[np.float64]:
    if term.choice is None:
        return codes
    return has_choice(questions.question(term.question), codes, term.choice)


def bounds(questions: Declaration, score: Score) -> tuple[float, float]:
    """The lowest and the highest value that the score can have: shares in [0, 1], or points."""
    ends = [_ends(questions.question(term.question), term) for term in score.terms]
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    count = len(ends) if score.combine is Combine.MEAN else 1
    return sum(lows) / count, sum(highs) / count


def _ends(question: Question, term: Term) -> tuple[float, float]:
    if term.choice is not None:
        return 0.0, 1.0
    numbers = [float(choice.value) for choice in question.choices]
    return min(numbers), max(numbers)
