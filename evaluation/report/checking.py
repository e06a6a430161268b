"""Labels that cannot be, found before anything is computed from them."""

import numpy as np

from evaluation.labels import BoolArray, IntArray, LabelsError, first_repeat
from evaluation.questions import Question, QuestionSet, coded_answer, has_choice
from evaluation.report.figures import coded_questions
from evaluation.report.judged import Judged


def check_labels(questions: QuestionSet, judged: Judged, occasion: IntArray | None = None) -> None:
    """Refuse labels that no form gives.

    Args:
        questions: what was asked.
        judged: the labels.
        occasion: (n,) 2 where a rater was to judge the same thing once more; None: nobody was.

    Raises:
        LabelsError: a required question without an answer, an answer to a question that was not asked, or the
            same rater twice on one thing; names row and column.
    """
    for question in coded_questions(questions):
        asked = _asked(questions, question, judged)
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


def _asked(questions: QuestionSet, question: Question, judged: Judged) -> BoolArray:
    """(n,) whether the question was asked."""
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
    if found := first_repeat(code):
        first, row = found
        raise LabelsError(
            f"rater '{judged.rater[row]}' already labelled reply {judged.reply[row]} of conversation "
            f"{judged.dialogue[row]} of '{judged.bot[row]}'; keep one of the two.",
            "rater",
            row,
            first,
        )
