"""Automatic figures of responses to the open benchmark: they describe a bot, but do not score it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.open_mtb import ConsistencyKey, StaticContext
from evaluation.statistics.interval import Undefined
from evaluation.texts.repetition import repeats, words

_OPENERS = re.compile(r"^(?:(?:oh|ah|well|hm+|haha|um|uh|sorry|honestly|actually|thanks|ha)(?: |$))+")
_YES = re.compile(
    r"(?:(?:yes|yeah|yep|yup|yea|sure|of course|definitely|absolutely|certainly|totally|please do|"
    r"ok|okay|gladly)\b|(?:(?:i (?:do|am|did|have|would|will|can)|it (?:is|does|was)|they do|you should)|"
    r"i (?:sure )?(?:think|hope|guess|suppose|believe) so)(?: too)?$)"
)
_NO = re.compile(
    r"(?:no|nope|nah|not|never|none|unfortunately|i'm afraid|i'm not|i am not|"
    r"i (?:don't|didn't|can't|won't|wouldn't|couldn't|haven't|cannot|do not)|"
    r"it (?:isn't|doesn't|wasn't)|they don't|you shouldn't)\b"
)
_DONT_KNOW = re.compile(
    r"\b(?:i (?:don't|do not|dont|didn't) (?:really )?know|no idea|idk|(?:i'm|i am) not (?:really )?sure)\b"
    r"|^not sure\b"
)
_CLAUSE = re.compile(r"[.,!?;:\n]+")


@dataclass(frozen=True, slots=True)
class YesNo:
    """Answers, by `plain_answer`, to the probes with the right answer "yes" or "no".

    Attributes:
        asked: number of these probes among the responses.
        agree, contradict, neither: number of right, of wrong, and of no plain answers.
        balanced: mean of the shares of right answers to "yes" probes and to "no" probes, in [0, 1]: .5 for a
            bot that gives every probe the same one of the two answers, 0 for a bot that gives neither.
    """

    asked: int
    agree: int
    contradict: int
    neither: int
    balanced: float | Undefined


@dataclass(frozen=True, slots=True)
class AutomaticFigures:
    """Properties of a bot's responses that need no judgment. Shares are in [0, 1].

    Attributes:
        contexts: number of contexts with a response.
        distinct: different responses / responses, compared by their words.
        commonest: share of the most frequent response.
        dont_know: share of responses such as "I don't know".
        repeats: share of responses that repeat a turn of the context (`evaluation.texts.repetition`).
        yes_no: answers to the probes with a plain right answer.
    """

    contexts: int
    distinct: float
    commonest: float
    dont_know: float
    repeats: float
    yes_no: YesNo


def plain_answer(response: str) -> str:
    """Return "yes" or "no" if a response begins like one, else "".

    The first words decide, after openers such as "oh" or "well": "sure", or a clause that is only "I do" or
    "I think so", is yes; "never", "I don't", "unfortunately" is no; "I don't know" is neither. Text after the
    first clause is ignored: "Yes, but no" is yes.
    """
    clauses = [" ".join(words(clause)) for clause in _CLAUSE.split(response)]
    opening = _OPENERS.sub("", next((clause for clause in clauses if _OPENERS.sub("", clause)), ""))
    if _DONT_KNOW.search(opening):
        return ""
    return "yes" if _YES.match(opening) else "no" if _NO.match(opening) else ""


def automatic_figures(
    contexts: Sequence[StaticContext],
    keys: Mapping[str, ConsistencyKey],
    responses: Mapping[str, str],
) -> AutomaticFigures | Undefined:
    """Compute the figures of one bot's responses.

    Args:
        contexts: contexts of the benchmark, any number.
        keys: consistency keys by id.
        responses: one response per context id; contexts without a response do not count.

    Returns:
        The figures; `Undefined` if there is no response.

    Raises:
        ValueError: a response is to a context that is not among `contexts`.
    """
    by_id = {context.id: context for context in contexts}
    if unknown := sorted(set(responses) - set(by_id)):
        raise ValueError(f"{unknown[0]!r} is not a context of the benchmark; give the ids of its file")
    if not responses:
        return Undefined("there is no response")
    folded = Counter(" ".join(words(text)) or text for text in responses.values())
    n = len(responses)
    return AutomaticFigures(
        contexts=n,
        distinct=len(folded) / n,
        commonest=max(folded.values()) / n,
        dont_know=sum(bool(_DONT_KNOW.search(" ".join(words(text)))) for text in responses.values()) / n,
        repeats=sum(repeats(text, by_id[one].turns) for one, text in responses.items()) / n,
        yes_no=_yes_no([(keys[one].answer, text) for one, text in responses.items() if one in keys]),
    )


def _yes_no(answered: Sequence[tuple[str | None, str]]) -> YesNo:
    pairs = [(right, plain_answer(text)) for right, text in answered if right]
    agree = [right for right, answer in pairs if answer == right]
    by_answer = Counter(right for right, _ in pairs)
    shares = [agree.count(right) / by_answer[right] for right in ("yes", "no") if by_answer[right]]
    neither = sum(not answer for _, answer in pairs)
    return YesNo(
        asked=len(pairs),
        agree=len(agree),
        contradict=len(pairs) - len(agree) - neither,
        neither=neither,
        balanced=float(np.mean(shares)) if len(shares) == 2 else Undefined("no probe of both kinds"),
    )
