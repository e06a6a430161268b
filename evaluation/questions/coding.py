"""Answers as numbers, one column for each question, so that a million of them are one array.

An answer that is a number or yes or no is that number, 1 or 0. One of several names is the number of its
choice, from 0. A list of choices is the sum of 2 to the power of their numbers, which a double holds exactly
for as many choices as may be declared. No answer is NaN; so is free text.
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from evaluation.questions.parts import Answer, Kind, Level, Question, Scalar


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
