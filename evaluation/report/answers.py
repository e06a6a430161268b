"""Answers from the rows of a bundle as the columns that a report computes from."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.labels import AnyArray, FloatArray, LabelsError
from evaluation.questions import Answer, Kind, Question, QuestionSet, coded_answer
from evaluation.report.figures import coded_questions, text_questions

Row = Mapping[str, Any]


def coded_columns(questions: QuestionSet, rows: Sequence[Row]) -> dict[str, FloatArray]:
    """By key, (n,) the answers to all questions but free text as numbers.

    Raises:
        LabelsError: an answer that its question does not take; names it, its row and its column.
    """
    return {question.key: _coded(question, rows) for question in coded_questions(questions)}


def _coded(question: Question, rows: Sequence[Row]) -> FloatArray:
    numbers = np.empty(len(rows))
    for number, row in enumerate(rows):
        try:
            numbers[number] = coded_answer(question, _answer(question, row))
        except ValueError as error:
            raise LabelsError(f"{error}", question.key, number) from None
    return numbers


def text_columns(questions: QuestionSet, rows: Sequence[Row]) -> dict[str, AnyArray]:
    """By key, (n,) the answers in free text; None where there is none."""
    return {
        question.key: np.array([row[question.key] for row in rows], dtype=object)
        for question in text_questions(questions)
    }


def answer_times(rows: Sequence[Row]) -> FloatArray:
    """(n,) milliseconds from what is judged being shown to the answer; NaN where nobody measured it."""
    # Bundles of before it was kept have no such column.
    told = (row.get("answer_ms") for row in rows)
    return np.array([math.nan if each is None else each for each in told], dtype=np.float64)


def days_given(rows: Sequence[Row]) -> FloatArray:
    """(n,) the day of each label, in days of UTC since 1970-01-01; NaN of one that came with a file."""
    told = ["NaT" if row["ask"] is None else row["labelled_at"][: len("2026-01-31")] for row in rows]
    days = np.array(told, dtype="datetime64[D]")
    return np.where(np.isnat(days), math.nan, days.astype(np.int64))


def _answer(question: Question, row: Row) -> Answer | None:
    stored = row[question.key]
    found: Answer | None = json.loads(stored) if stored and question.kind is Kind.SEVERAL else stored
    return found
