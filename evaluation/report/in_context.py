"""What systems said in one context, with their raters' answers; and that as files. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from evaluation.latex import escaped, number, table
from evaluation.questions import Question, QuestionSet, Scalar, coded_answers, is_same, score_values
from evaluation.report.figures import coded_questions
from evaluation.spreadsheets import csv_text

Redactor = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Said:
    """What a system said, and what its raters answered.

    Attributes:
        key: of the item.
        system: whose response it is.
        repetition: from 1.
        text: of the response.
        answers: of each rater whose judgments count.
        scores: by key of a score, its mean over the raters, as it is shown; None without an answer.
    """

    key: UUID
    system: str
    repetition: int
    text: str
    answers: list[Mapping[str, Any]]
    scores: Mapping[str, float | None]


def scores_of(questions: QuestionSet, answers: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """By key, the mean of each score over the raters who gave these answers."""
    codes = {
        each.key: coded_answers(each, [given.get(each.key) for given in answers])
        for each in coded_questions(questions)
    }
    scores: dict[str, float | None] = {}
    for score in questions.scores:
        values = score_values(questions, score, codes)
        known = values[~np.isnan(values)]
        scores[score.key] = score.factor * float(known.mean()) if len(known) else None
    return scores


def as_csv(
    questions: QuestionSet, key: str, turns: Sequence[str], said: Sequence[Said], redacted: Redactor
) -> str:
    """A row for each response: its scores, and how many raters gave which answer.

    Args:
        questions: that were asked.
        key: of the context.
        turns: of the context.
        said: the responses.
        redacted: how texts may be passed on.
    """
    before = "\n".join(map(redacted, turns))
    answers = [
        (question, choice.value) for question in coded_questions(questions) for choice in question.choices
    ]
    head = ["context", "said_before", "system", "repetition", "response", "raters"]
    head += [score.key for score in questions.scores]
    head += [f"{question.key}={_as_text(value)}" for question, value in answers]
    rows = [
        [
            key,
            before,
            each.system,
            each.repetition,
            redacted(each.text),
            len(each.answers),
            *(each.scores[score.key] for score in questions.scores),
            *(_given(each, question, value) for question, value in answers),
        ]
        for each in said
    ]
    return csv_text([head, *rows])


def as_latex(
    questions: QuestionSet, key: str, turns: Sequence[str], said: Sequence[Said], redacted: Redactor
) -> str:
    """The context above its responses with their scores; the arguments are those of `as_csv`."""
    width = 3 + len(questions.scores)
    above = [
        rf"\multicolumn{{{width}}}{{p{{0.9\textwidth}}}}{{{speaker}: {escaped(redacted(turn))}}}"
        for speaker, turn in zip(_speakers(len(turns)), turns, strict=True)
    ]
    head = ["System", "Response", *(escaped(score.title) for score in questions.scores), "Raters"]
    rows = [
        [
            escaped(each.system),
            escaped(redacted(each.text)),
            *(number(each.scores[score.key]) for score in questions.scores),
            str(len(each.answers)),
        ]
        for each in said
    ]
    notes = escaped(f"Context {key}; means over the raters, shares in percent.")
    return table(rf"lp{{0.4\textwidth}}{'r' * (width - 2)}", head, rows, notes, above=above)


Made = Callable[[QuestionSet, str, Sequence[str], Sequence[Said], Redactor], str]
FILES: Mapping[str, tuple[Made, str]] = {"csv": (as_csv, "text/csv"), "tex": (as_latex, "application/x-tex")}
"""By the ending of a file, how it is made, and its type."""


def _speakers(turns: int) -> list[str]:
    """The last turn of a context is always the partner's, whom the system answers."""
    return ["A" if (turns - n) % 2 else "B" for n in range(turns)]


def _given(said: Said, question: Question, value: Scalar) -> int:
    answers = [given[question.key] for given in said.answers if question.key in given]
    chosen = [each if isinstance(each, list) else [each] for each in answers]
    return sum(any(is_same(value, one) for one in each) for each in chosen)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
