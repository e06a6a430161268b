"""What people said about themselves, before their work and after it: shares, means and texts. Pure.

These figures describe who took part; nothing is estimated from them, so they have no intervals. Everybody who
answered is in them, also whom the analysis of judgments leaves out.
"""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.questions import Answer, Kind, Question, QuestionSet, is_same
from evaluation.report.columns import answered_in
from evaluation.report.figures import MOST_TEXTS

Answers = Mapping[str, Answer]


@dataclass(frozen=True, slots=True)
class Questionnaire:
    """Questions about the person that a study asks.

    Attributes:
        questions: what is asked.
        moment: `before_work` or `after_work`.
        required: whether nobody goes on without it.
    """

    questions: QuestionSet
    moment: str
    required: bool


@dataclass(frozen=True, slots=True)
class Reply:
    """What somebody answered to a questionnaire; nothing if they left it out."""

    question_set: str
    rater: str
    answers: Answers


def replies(asked: Sequence[QuestionSet], rows: Iterable[Mapping[str, Any]]) -> list[Reply]:
    """The replies from rows of the bundle's table `questionnaires`."""
    columns = answered_in(asked)
    return [
        Reply(row["question_set"], row["rater"], _answers(row, columns[row["question_set"]])) for row in rows
    ]


def _answers(row: Mapping[str, Any], columns: Mapping[str, Question]) -> Answers:
    return {
        question.key: json.loads(row[name]) if question.kind is Kind.SEVERAL else row[name]
        for name, question in columns.items()
        if row[name] is not None
    }


def people_figures(asked: Sequence[Questionnaire], given: Sequence[Reply]) -> list[dict[str, Any]]:
    """Of each questionnaire, in their order, what people answered, ready to be stored as JSON.

    Returns:
        `title`, `question_set`, `moment` and `required`; how many `people` answered and how often
        (`answers`: who takes part again is asked *after* each time), how often it was `left_out`, and its
        `questions`: of each its wording, its `kind` and how many `answers` it has. Of a list the `choices`,
        each with its number and its `share` of these answers in percent; of numbers also `mean` and sample
        `deviation` (none of a single one); of free text the `first` answers.
    """
    return [
        _figures(each, [one for one in given if one.question_set == each.questions.key]) for each in asked
    ]


def _figures(asked: Questionnaire, given: Sequence[Reply]) -> dict[str, Any]:
    answered = [each for each in given if each.answers]
    return {
        "title": asked.questions.title,
        "question_set": asked.questions.key,
        "moment": asked.moment,
        "required": asked.required,
        "people": len({each.rater for each in answered}),
        "answers": len(answered),
        "left_out": len(given) - len(answered),
        "questions": [_of_question(each, answered) for each in asked.questions.questions],
    }


def _of_question(question: Question, given: Sequence[Reply]) -> dict[str, Any]:
    found = [(each.rater, each.answers[question.key]) for each in given if question.key in each.answers]
    told = {"question": question.wording, "kind": question.kind.value, "answers": len(found)}
    if question.kind is Kind.TEXT:
        return {**told, "first": [{"rater": rater, "text": text} for rater, text in found[:MOST_TEXTS]]}
    answers = [answer for _, answer in found]
    return {**told, "choices": _choices(question, answers), **_mean(question, answers)}


def _choices(question: Question, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    chosen = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    counts = [sum(is_same(choice.value, each) for each in chosen) for choice in question.choices]
    return [
        {"choice": choice.label, "answers": n, **({"share": 100 * n / len(answers)} if answers else {})}
        for choice, n in zip(question.choices, counts, strict=True)
    ]


def _mean(question: Question, answers: Sequence[Answer]) -> dict[str, float]:
    """Of numbers in an order, as far as there are any."""
    if not question.has_mean or not answers:
        return {}
    numbers = [float(answer) for answer in answers]  # type: ignore[arg-type]  # choices are whole numbers
    spread = {"deviation": statistics.stdev(numbers)} if len(numbers) > 1 else {}
    return {"mean": statistics.fmean(numbers), **spread}
