"""Probabilities of a model's answers over the choices, from the log probabilities of its tokens.

The distribution is read at the tokens where the choices begin to differ. What the service reports on none of
the choices is left out, and the rest is scaled to 1, as in Liu et al. 2023, "G-Eval", arXiv:2303.16634.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from evaluation.machine_judges.template import judgeable_questions, takes_plain_choice
from evaluation.questions import Kind, Question, QuestionSet
from evaluation.statistics.labels import FloatArray

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
        text: the model's answer, which `parsing.parsed_answers` accepts.
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
        known = _distribution(_names(question, quoted=not is_plain), at + span[0], at + span[1], tokens)
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


def _names(question: Question, *, quoted: bool) -> list[tuple[int, str]]:
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
