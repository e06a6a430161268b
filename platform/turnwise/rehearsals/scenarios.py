"""In which ways simulated workers answer a question of any kind, and how often. Pure."""

from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from evaluation.questions import Answer, Kind, Level, Question, QuestionSet, is_same

Share: TypeAlias = tuple[float, ...]
"""For each way to answer a question that is asked, its chance; they sum to 1."""
State: TypeAlias = tuple[Share, ...]
"""For each question, how a careful worker who is asked it answers."""
Shown: TypeAlias = Mapping[str, Collection[Answer]]
"""For each question, the choices that are on the page."""

# Shares of yes, by system and question; a question that depends on another has its share where it is asked.
YES = ((0.8, 0.625), (0.6, 0.5), (0.9, 0.8), (0.7, 0.5))
# On a scale or in a list, by system: how far along the most frequent answer lies.
PEAKS = (0.7, 0.4, 0.85, 0.55)
ANSWERED = 0.6
"""Share of those who answer a question that need not be answered."""
TEXT = "It reads well."


@cache
def ways(question: Question) -> tuple[Answer | None, ...]:
    """The answers that are given: of several choices each alone and each two neighbours; None: no answer."""
    nothing: tuple[None, ...] = () if question.required else (None,)
    if question.kind is Kind.TEXT:
        return (TEXT[: question.longest].strip(), *nothing)
    values = [choice.value for choice in question.choices]
    if question.kind is not Kind.SEVERAL:
        return (*values, *nothing)
    pairs = pairwise(values)
    return (*([value] for value in values), *([first, second] for first, second in pairs), *nothing)


def even(share: Share) -> Share:
    """Every way that there is as often as any other."""
    there = sum(map(bool, share))
    return tuple(1 / there if chance else 0.0 for chance in share)


def first(share: Share) -> Share:
    """Always the first way that there is."""
    way = next(way for way, chance in enumerate(share) if chance)
    return tuple(float(each == way) for each in range(len(share)))


def narrowed(questions: QuestionSet, state: State, shown: Shown) -> State:
    """The state without ways that have choices which are not shown; the others keep their proportions."""
    return tuple(
        _narrowed(question, share, shown.get(question.key))
        for question, share in zip(questions.questions, state, strict=True)
    )


def _narrowed(question: Question, share: Share, shown: Collection[Answer] | None) -> Share:
    if question.kind is not Kind.SEVERAL or shown is None:
        return share
    kept = [
        chance if all(each in shown for each in (way if isinstance(way, list) else ())) else 0.0
        for way, chance in zip(ways(question), share, strict=True)
    ]
    return tuple(chance / sum(kept) for chance in kept)


@cache
def rates(questions: QuestionSet, system: int) -> State:
    """How often what this system says is to get each answer, where the question is asked."""
    return tuple(_rates(question, nth, system) for nth, question in enumerate(questions.questions))


def _rates(question: Question, nth: int, system: int) -> Share:
    answers = [answer for answer in ways(question) if answer is not None]
    if question.level is Level.BINARY:
        yes = YES[system % len(YES)][nth % 2]
        share: Share = tuple(yes if answer is True else 1 - yes for answer in answers)
    else:
        peak = PEAKS[system % len(PEAKS)] * (len(answers) - 1)
        # A triangle over all answers; nothing has no chance at all.
        weights = [len(answers) - abs(way - peak) for way in range(len(answers))]
        share = tuple(weight / sum(weights) for weight in weights)
    if question.required:
        return share
    return (*(ANSWERED * each for each in share), 1 - ANSWERED)


def seen(questions: QuestionSet, truth: Mapping[str, Answer], right: float) -> State:
    """How careful workers see a thing with these true answers: they give each with this chance."""
    return tuple(_seen(question, truth.get(question.key), right) for question in questions.questions)


def _seen(question: Question, truth: Answer | None, right: float) -> Share:
    given = ways(question)
    if len(given) == 1:
        return (1.0,)
    others = (1 - right) / (len(given) - 1)
    hits = [is_same(answer, truth) for answer in given]
    if not any(hits):  # not asked of such a thing, so whoever is asked wrongly knows nothing
        return even((1.0,) * len(given))
    return tuple(right if hit else others for hit in hits)
