"""Validation of answers to a question set, and conversion to what is stored."""

from collections.abc import Mapping, Sequence

from evaluation.questions.parts import Answer, Kind, Question, Scalar, is_same
from evaluation.questions.validation import AnswersError
from evaluation.texts.cleaning import cleaned


def checked(questions: Sequence[Question], answers: Mapping[str, object]) -> dict[str, Answer]:
    """Validate a complete set of answers and return what to store.

    A question that is not asked may be absent, None or equal to its `otherwise`; the result then holds
    `otherwise`. An optional question may be absent, None, an empty list or an empty text; the result then
    leaves it out. Several choices are returned in the declared order, free text cleaned.

    Args:
        questions: what was asked.
        answers: answer by question key; None counts as no answer.

    Returns:
        Answer by question key, in the order of the questions.

    Raises:
        AnswersError: an unknown question, a missing answer, an invalid answer, or an
            answer to a question that is not asked.
    """
    keys = [q.key for q in questions]
    for key in answers:
        if key not in keys:
            message = f"“{key}” is not a question of this form. Its questions are: {', '.join(keys)}."
            raise AnswersError("unknown_question", message, str(key))
    accepted: dict[str, Answer] = {}
    for question in questions:
        answer = _checked(questions, question, answers.get(question.key), accepted)
        if answer is not None:
            accepted[question.key] = answer
    return accepted


def _checked(
    questions: Sequence[Question], question: Question, answer: object, accepted: Mapping[str, Answer]
) -> Answer | None:
    condition = question.asked_if
    if condition is not None and not condition.holds(accepted):
        if answer is None or is_same(answer, question.otherwise):
            return question.otherwise
        raise AnswersError("not_asked", _explain_condition(questions, question), question.key)
    value = None if answer is None else _value_to_store(question, answer)
    if value is None and question.required:
        raise AnswersError("missing_answer", f"Please answer “{question.wording}”", question.key)
    return value


def _value_to_store(question: Question, answer: object) -> Answer | None:
    """Value to store for an answer; None for an empty answer."""
    if question.kind is Kind.TEXT:
        return _text(question, answer)
    if question.kind is Kind.SEVERAL:
        return _several(question, answer)
    index = question.index_of(answer)
    if index is None:
        raise _wrong(question, answer)
    return question.choices[index].value


def _several(question: Question, answer: object) -> list[Scalar] | None:
    if not isinstance(answer, list | tuple):
        raise _wrong(question, answer)
    numbers = [question.index_of(each) for each in answer]
    valid = [number for number in numbers if number is not None]
    if len(valid) < len(numbers) or len(set(valid)) < len(valid):
        raise _wrong(question, answer)
    return [question.choices[number].value for number in sorted(valid)] or None


def _text(question: Question, answer: object) -> str | None:
    if not isinstance(answer, str):
        raise AnswersError("wrong_value", f"Please answer “{question.wording}” in words.", question.key)
    # Keep one character more than allowed, to tell texts that are too long from texts that just fit.
    text = cleaned(answer, question.longest + 1)
    if len(text) > question.longest:
        raise AnswersError(
            "too_long",
            f"The answer to “{question.wording}” is longer than {question.longest} characters. "
            f"Please shorten it.",
            question.key,
        )
    return text or None


def _wrong(question: Question, answer: object) -> AnswersError:
    choices = ", ".join(f"“{c.label}”" for c in question.choices)
    how = "any of, each once" if question.kind is Kind.SEVERAL else "one of"
    text = cleaned(str(answer), 80)
    message = f"“{text}” is not an answer to “{question.wording}” Please choose {how}: {choices}."
    return AnswersError("wrong_value", message, question.key)


def _explain_condition(questions: Sequence[Question], question: Question) -> str:
    condition = question.asked_if
    if condition is None:
        raise ValueError(f"Question '{question.key}' is always asked.")
    first = next(each for each in questions if each.key == condition.question)
    values = " or ".join(f"“{first.caption_of(value)}”" for value in condition.any_of)
    return (
        f"“{question.wording}” is asked only if the answer to “{first.wording}” is {values}. "
        f"Please change one of the two answers."
    )
