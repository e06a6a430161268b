"""Strict reading of a model's answer: a JSON object, or exactly one of the choices. Nothing is guessed."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.machine_judges.template import judgeable_questions, takes_plain_choice
from evaluation.questions import Answer, AnswersError, Kind, Question, QuestionSet, Scalar
from evaluation.questions.answers import checked
from evaluation.texts.cleaning import cleaned

LONGEST = 20_000
"""Characters above which an answer is not read: no form has that many."""

# Many models put JSON into a fenced block of Markdown, which changes nothing about the answer.
_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)


class OutsideChoicesError(ValueError):
    """An answer that is none of the possible ones; the message says why."""


def parsed_answers(questions: QuestionSet, text: str) -> dict[str, Answer]:
    """Read a model's answers to the questions of a set that have choices.

    A choice may be given as its stored value or as its caption, in upper or lower case. The whole text must
    be the answer, apart from blanks around it and a fence of Markdown around a JSON object.

    Args:
        questions: what was asked.
        text: everything that the model answered.

    Returns:
        Answer by question key, as a rater's answers are stored; free-text questions are left out.

    Raises:
        OutsideChoicesError: anything else, such as prose around the answer, a missing or repeated question,
            a value that is none of the choices, or a text of more than `LONGEST` characters.
    """
    asked = judgeable_questions(questions)
    if len(text) > LONGEST:
        raise OutsideChoicesError(f"The answer has {len(text):,} characters.")
    whole = text.strip()
    if takes_plain_choice(asked) and not whole.startswith(("{", "```")):
        given: Mapping[str, object] = {asked[0].key: whole}
    else:
        given = _object(whole)
    by_key = {question.key: question for question in asked}
    try:
        return checked(asked, {key: as_choice(by_key.get(key), answer) for key, answer in given.items()})
    except AnswersError as error:
        raise OutsideChoicesError(cleaned(error.message, 300)) from None
    except RecursionError:
        raise OutsideChoicesError("The answer is nested too deeply.") from None


def _object(text: str) -> Mapping[str, object]:
    fenced = _FENCED.match(text)
    try:
        found = json.loads(
            fenced.group(1) if fenced else text, object_pairs_hook=_once, parse_constant=_refuse_constant
        )
    except OutsideChoicesError:
        raise
    except (ValueError, RecursionError):
        raise OutsideChoicesError("The answer is neither a JSON object nor one of the choices.") from None
    if not isinstance(found, dict):
        raise OutsideChoicesError("The answer is not a JSON object.")
    return found


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Fields of an object; one that comes twice could mean either."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise OutsideChoicesError("A question is answered twice.")
    return found


def _refuse_constant(name: str) -> object:
    raise OutsideChoicesError(f"{name} is not a value of JSON.")


def as_choice(question: Question | None, given: object) -> object:
    """The stored value of a choice that is given by its caption; of several choices each; else as it is."""
    if question is None:
        return given
    if question.kind is Kind.SEVERAL and isinstance(given, list):
        return [_choice(question, each) for each in given]
    return _choice(question, given)


def _choice(question: Question, given: object) -> object:
    if not isinstance(given, str) or question.index_of(given) is not None:
        return given
    name = given.strip().casefold()
    named = [choice.value for choice in question.choices if name in _names(choice.value, choice.label)]
    return named[0] if len(named) == 1 else given


def _names(value: Scalar, label: str) -> tuple[str, str]:
    stored = str(value).lower() if isinstance(value, bool) else str(value)
    return stored.casefold(), label.strip().casefold()
