"""Values of the scores of a question set for each label.

Answers as numbers, one column for each question, so that a million of them are one array.

An answer that is a number or yes or no is that number, 1 or 0. One of several names is the number of its
choice, from 0. A list of choices is the sum of 2 to the power of their numbers, which a double holds exactly
for as many choices as may be declared. No answer is NaN; so is free text.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from evaluation.questions.parts import Answer, Combine, Kind, Level, Question, Scalar, Score, Term
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
        (n,) as `coded_answer` has each, which also says what raises `ValueError`.
    """
    return np.array([coded_answer(question, answer) for answer in answers], dtype=np.float64)


def has_choice(question: Question, codes: NDArray[np.float64], choice: Scalar) -> NDArray[np.float64]:
    """Who chose this.

    Args:
        question: with choices, of which one or several may be given.
        codes: (n,) as `coded_answers` gives them.
        choice: one of the question's.

    Returns:
        (n,) 1 where the answer is, or has, the choice, else 0; NaN where there is no answer.
    """
    if question.kind is not Kind.SEVERAL:
        chosen = codes == coded_answer(question, choice)
    else:
        chosen = np.floor(np.nan_to_num(codes) / 2.0 ** _number_of(question, choice)) % 2 == 1
    return np.where(np.isnan(codes), np.nan, chosen)


def _number_of(question: Question, value: Scalar) -> int:
    number = question.index_of(value)
    if number is None:
        raise ValueError(f"{value!r} is not an answer to the question '{question.key}'.")
    return number


def score_values(
    questions: Declaration, score: Score, answers: Mapping[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """The score of each label: a share in [0, 1], or points.

    Args:
        questions: what was asked.
        score: one of its scores.
        answers: by question key, (n,) the answers as numbers of `coding`; NaN where there is none.

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
        answers: by question, (n,) as `coding.coded_answers` gives them.

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
