"""Reading of a model's answers: strictly, as JSON or one of the choices, and probabilities of the choices.

Nothing is guessed.

The distribution is read at the tokens where the choices begin to differ. What the service reports on none of
the choices is left out, and the rest is scaled to 1, as in Liu et al. 2023, "G-Eval", arXiv:2303.16634.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from evaluation.machine_judges.template import judgeable_questions, takes_plain_choice
from evaluation.questions import Answer, AnswersError, Kind, Question, QuestionSet, Scalar
from evaluation.questions.answers import checked
from evaluation.statistics.labels import FloatArray
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


Token: TypeAlias = tuple[str, Mapping[str, float]]
"""A token of the answer, and the log probabilities of the most likely tokens at its place."""

Probabilities: TypeAlias = dict[str, list[float | None]]
"""By question key, the probability of each choice in the declared order; None where it is unknown."""

LEAST_MASS = 0.5
"""Least probability of all choices together; below it, the tokens say nothing about the choices."""


def token_probabilities(questions: QuestionSet, text: str, tokens: Sequence[Token]) -> Probabilities:
    """Read the probability of each choice from an answer's tokens.

    Of several questions, the later ones are conditional on the answers before them.

    Args:
        questions: the question set.
        text: the model's answer, which `parsed_answers` accepts.
        tokens: all tokens of the answer, perhaps after others, such as those of reasoning.

    Returns:
        Probabilities of the questions with one answer; without those that the tokens do not determine.
    """
    asked = judgeable_questions(questions)
    whole, joined = text.strip(), "".join(token for token, _ in tokens)
    at = joined.rfind(whole) if whole else -1
    if at < 0:
        return {}
    is_plain = takes_plain_choice(asked) and not whole.startswith(("{", "```"))
    found: Probabilities = {}
    for question in asked:
        span = (0, len(whole)) if is_plain else _span(whole, question.key)
        if question.kind is Kind.SEVERAL or span is None:
            continue
        known = _distribution(
            _written_forms(question, quoted=not is_plain), at + span[0], at + span[1], tokens
        )
        if known is not None:
            found[question.key] = known
    return found


def chances_of(questions: QuestionSet, stored: Sequence[Probabilities | None]) -> dict[str, FloatArray]:
    """Stored probabilities as columns.

    Args:
        questions: the question set.
        stored: those of each of n labels; None for a label without any.

    Returns:
        By question key, (n, choices) probabilities; NaN where they are unknown. Questions without any are
        left out.
    """
    found = {}
    for question in judgeable_questions(questions):
        rows = [(each or {}).get(question.key) for each in stored]
        if any(rows):
            unknown = [None] * len(question.choices)
            values = [unknown if row is None or len(row) != len(unknown) else row for row in rows]
            found[question.key] = np.array(values, dtype=np.float64)
    return found


def _span(text: str, key: str) -> tuple[int, int] | None:
    """Position of a key's value in a JSON object; None without the key."""
    match = re.search(rf"{re.escape(json.dumps(key))}\s*:\s*", text)
    if match is None:
        return None
    try:
        _value, end = json.JSONDecoder().raw_decode(text, match.end())
    except ValueError:
        return None
    return match.end(), end


def _written_forms(question: Question, *, quoted: bool) -> list[tuple[int, str]]:
    """Every way to write each choice, in lower case."""
    names = []
    for number, choice in enumerate(question.choices):
        if quoted:
            written = {json.dumps(each, ensure_ascii=False) for each in (choice.value, choice.label)}
        else:
            value = choice.value
            written = {str(value).lower() if isinstance(value, bool) else str(value), choice.label.strip()}
        names += [(number, each.casefold()) for each in written]
    return names


def _distribution(
    names: Sequence[tuple[int, str]], start: int, end: int, tokens: Sequence[Token]
) -> list[float | None] | None:
    """Probability of each choice; None if the tokens give too little to the choices.

    A token that was not chosen may be the beginning of several choices, such as 1 of 1 and 10: then the
    probability of these is unknown.

    Args:
        names: number of the choice and each of its names.
        start: place of the answer in all tokens together.
        end: its end.
        tokens: all tokens.
    """
    mass = [0.0] * (max(number for number, _ in names) + 1)
    unknown: set[int] = set()
    carried, begin, undivided = 1.0, 0, 0.0
    text = "".join(token for token, _ in tokens)
    for token, alternatives in tokens:
        stop = begin + len(token)
        if stop > start and begin < end:
            lead, written = text[begin:start].strip(), text[start:begin].casefold()
            for other, logarithm in alternatives.items():
                choices = _choices(names, written, lead, other)
                if len(choices) == 1:
                    mass[choices.pop()] += carried * math.exp(logarithm)
                elif other != token and 1 < len(choices) < len(mass):
                    undivided += carried * math.exp(logarithm)
                    unknown |= choices
            if len(_choices(names, written, lead, token)) != 1:
                carried *= math.exp(alternatives.get(token, -math.inf))
            else:
                carried = 0.0
                break
        begin = stop
    whole = {number for number, name in names if name == text[start:end].casefold()}
    if carried and len(whole) == 1:
        mass[whole.pop()] += carried
    total = math.fsum([*mass, undivided])
    if total < LEAST_MASS:
        return None
    return [None if number in unknown else each / total for number, each in enumerate(mass)]


def _choices(names: Iterable[tuple[int, str]], written: str, lead: str, token: str) -> set[int]:
    """Choices that an answer may become after this token.

    Args:
        names: number of the choice and each of its names.
        written: what of the answer stands before the token.
        lead: what the token has before the answer.
        token: the token.
    """
    rest = token if written else token.lstrip()
    if not rest.startswith(lead):
        return set()
    rest = rest[len(lead) :] if written else rest[len(lead) :].lstrip()
    text = (written + rest).casefold()
    if not rest:
        return {number for number, _ in names}
    return {number for number, name in names if name.startswith(text) or _begins_with(text, name)}


def _begins_with(text: str, name: str) -> bool:
    """True if a text begins with a name that is complete."""
    return text.startswith(name) and not text[len(name) : len(name) + 1].isalnum()
