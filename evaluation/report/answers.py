"""Answers in the rows of a bundle as columns, checks of labels, and the figures of one ask. Pure."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.questions import Answer, Kind, Question, QuestionSet, coded_answer, has_choice
from evaluation.report.figures import coded_questions, study_figures, text_questions
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import AnalysisPlan, Judged
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray, LabelsError, first_repeat

Row = Mapping[str, Any]


def coded_columns(questions: QuestionSet, rows: Sequence[Row]) -> dict[str, FloatArray]:
    """Convert the answers to all questions but free text to numbers, (n,) by key.

    Raises:
        LabelsError: an invalid answer; names the answer, its row and its column.
    """
    return {question.key: _coded(question, rows) for question in coded_questions(questions)}


def _coded(question: Question, rows: Sequence[Row]) -> FloatArray:
    numbers = np.empty(len(rows))
    for number, row in enumerate(rows):
        try:
            numbers[number] = coded_answer(question, answer_of(question, row))
        except ValueError as error:
            raise LabelsError(f"{error}", question.key, number) from None
    return numbers


def text_columns(questions: QuestionSet, rows: Sequence[Row]) -> dict[str, AnyArray]:
    """Collect the answers in free text, (n,) by key; None for no answer."""
    return {
        question.key: np.array([row[question.key] for row in rows], dtype=object)
        for question in text_questions(questions)
    }


def answer_times(rows: Sequence[Row]) -> FloatArray:
    """(n,) milliseconds from display to answer; NaN if not measured."""
    # Older bundles have no such column.
    times = (row.get("answer_ms") for row in rows)
    return np.array([math.nan if each is None else each for each in times], dtype=np.float64)


def label_days(rows: Sequence[Row]) -> FloatArray:
    """(n,) day of each label, in UTC days since 1970-01-01; NaN for labels from a file."""
    dates = ["NaT" if row["ask"] is None else row["labelled_at"][: len("2026-01-31")] for row in rows]
    days = np.array(dates, dtype="datetime64[D]")
    return np.where(np.isnat(days), math.nan, days.astype(np.int64))


def answer_of(question: Question, row: Row) -> Answer | None:
    """The answer to a question in a row of a bundle, by the key of the question; None for no answer."""
    stored = row[question.key]
    answer: Answer | None = json.loads(stored) if stored and question.kind is Kind.SEVERAL else stored
    return answer


WHOLE = "dialogue"
"""Subject of an ask about the whole conversation."""


@dataclass(frozen=True, eq=False)
class AskData:
    """One ask with its answers.

    Attributes:
        about: `own_turn`, `partner_turn` or `dialogue`, from the view of the rater.
        required: true if a conversation could not be finished without an answer.
        questions: the question set.
        judged: labels of finished conversations; a whole conversation counts as one reply.
    """

    about: str
    required: bool
    questions: QuestionSet
    judged: Judged


def ask_figures(ask: AskData, plan: AnalysisPlan, terms: Terms) -> dict[str, Any]:
    """Compute the figures of one ask.

    Args:
        ask: the ask with its answers.
        plan: the declared analysis.
        terms: level of the intervals, and the margin of equivalence of the main score, if there is one.
    """
    result = study_figures(ask.questions, ask.judged, plan=plan, terms=terms)
    if ask.about == WHOLE:
        for part, _ in plan.parts(result, ask.judged):
            part["by_reply"] = []  # a whole conversation has no course
    return result | {"about": ask.about, "required": ask.required, "title": ask.questions.title}


def check_labels(questions: QuestionSet, judged: Judged, occasion: IntArray | None = None) -> None:
    """Refuse labels that no form can produce.

    Args:
        questions: the question set.
        judged: the labels.
        occasion: (n,) 2 if a rater had to judge the same item again; None: no repeats.

    Raises:
        LabelsError: a required question without an answer, an answer to a question that was not asked, or the
            same rater twice on one item; names row and column.
    """
    for question in coded_questions(questions):
        asked = _condition_holds(questions, question, judged)
        codes = judged.answers[question.key]
        missing = np.flatnonzero(asked & np.isnan(codes)) if question.required else np.empty(0, np.int64)
        if missing.size:
            raise LabelsError(_missing(question, judged, int(missing[0])), question.key, int(missing[0]))
        otherwise = coded_answer(question, question.otherwise)
        extra = np.flatnonzero(~asked & ~np.isnan(codes) & (codes != otherwise))
        if extra.size:
            raise LabelsError(
                f"there is an answer, but “{question.wording}” is not asked after what was answered before.",
                question.key,
                int(extra[0]),
            )
    _refuse_repeats(judged, occasion)


def _condition_holds(questions: QuestionSet, question: Question, judged: Judged) -> BoolArray:
    """(n,) true if the question was asked."""
    condition = question.asked_if
    if condition is None:
        return np.ones(len(judged), dtype=np.bool_)
    before = questions.question(condition.question)
    codes = judged.answers[before.key]
    holds: BoolArray = np.any([has_choice(before, codes, value) == 1 for value in condition.any_of], axis=0)
    return holds


def _missing(question: Question, judged: Judged, row: int) -> str:
    return (
        f"Reply {judged.reply[row]} of conversation {judged.dialogue[row]} has a label by "
        f"{judged.rater[row]} without an answer to '{question.key}'. Complete or delete that label in the "
        f"admin."
    )


def _refuse_repeats(judged: Judged, occasion: IntArray | None) -> None:
    code = judged.reply_code * max(len(judged.raters), 1) + judged.rater_code
    if occasion is not None:
        code = code * (int(occasion.max(initial=1)) + 1) + occasion
    if repeat := first_repeat(code):
        first, row = repeat
        raise LabelsError(
            f"rater '{judged.rater[row]}' already labelled reply {judged.reply[row]} of conversation "
            f"{judged.dialogue[row]} of '{judged.bot[row]}'; keep one of the two.",
            "rater",
            row,
            first,
        )
