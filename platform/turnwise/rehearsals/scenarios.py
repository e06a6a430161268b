"""Possible answers of simulated workers to any kind of question, and their chances. Pure."""

from collections.abc import Collection, Mapping
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from evaluation.questions import Answer, Kind, Level, Question, QuestionSet, is_same

Share: TypeAlias = tuple[float, ...]
"""Chance of each possible answer to a question; they sum to 1."""
State: TypeAlias = tuple[Share, ...]
"""For each question, the answer chances of a careful worker who gets it."""
VisibleChoices: TypeAlias = Mapping[str, Collection[Answer]]
"""For each question, the choices that are on the page."""

# Shares of yes, by system and question. A conditional question has this share among those who get it.
YES = ((0.8, 0.625), (0.6, 0.5), (0.9, 0.8), (0.7, 0.5))
# Relative position of the most frequent answer on a scale or in a list, by system.
PEAKS = (0.7, 0.4, 0.85, 0.55)
ANSWERED = 0.6
"""Share of workers who answer an optional question."""
TEXT = "It reads well."


@cache
def possible_answers(question: Question) -> tuple[Answer | None, ...]:
    """Possible answers: for several choices, each one alone and each two neighbours; None is no answer."""
    nothing: tuple[None, ...] = () if question.required else (None,)
    if question.kind is Kind.TEXT:
        return (TEXT[: question.longest].strip(), *nothing)
    values = [choice.value for choice in question.choices]
    if question.kind is not Kind.SEVERAL:
        return (*values, *nothing)
    pairs = pairwise(values)
    return (*([value] for value in values), *([first, second] for first, second in pairs), *nothing)


def uniform_share(share: Share) -> Share:
    """Give all possible answers the same chance."""
    possible = sum(map(bool, share))
    return tuple(1 / possible if chance else 0.0 for chance in share)


def always_first(share: Share) -> Share:
    """Chance 1 for the first answer that is possible."""
    index = next(index for index, chance in enumerate(share) if chance)
    return tuple(float(each == index) for each in range(len(share)))


def limit_to_choices(questions: QuestionSet, state: State, shown: VisibleChoices) -> State:
    """Remove answers with choices that are not shown; the others keep their proportions."""
    return tuple(
        _limit_to_choices(question, share, shown.get(question.key))
        for question, share in zip(questions.questions, state, strict=True)
    )


def _limit_to_choices(question: Question, share: Share, shown: Collection[Answer] | None) -> Share:
    if question.kind is not Kind.SEVERAL or shown is None:
        return share
    kept = [
        chance if all(each in shown for each in (answer if isinstance(answer, list) else ())) else 0.0
        for answer, chance in zip(possible_answers(question), share, strict=True)
    ]
    return tuple(chance / sum(kept) for chance in kept)


@cache
def answer_rates(questions: QuestionSet, system: int) -> State:
    """Injected rate of each answer about a system, among workers who get the question."""
    return tuple(_answer_rates(question, nth, system) for nth, question in enumerate(questions.questions))


def _answer_rates(question: Question, nth: int, system: int) -> Share:
    answers = [answer for answer in possible_answers(question) if answer is not None]
    if question.level is Level.BINARY:
        yes = YES[system % len(YES)][nth % 2]
        share: Share = tuple(yes if answer is True else 1 - yes for answer in answers)
    else:
        peak = PEAKS[system % len(PEAKS)] * (len(answers) - 1)
        # A triangle over all answers, so that every answer has a chance.
        weights = [len(answers) - abs(index - peak) for index in range(len(answers))]
        share = tuple(weight / sum(weights) for weight in weights)
    if question.required:
        return share
    return (*(ANSWERED * each for each in share), 1 - ANSWERED)


def chances_for_truth(questions: QuestionSet, truth: Mapping[str, Answer], right: float) -> State:
    """State of a thing with these true answers, which careful workers give with chance `right`."""
    return tuple(
        _chances_for_truth(question, truth.get(question.key), right) for question in questions.questions
    )


def _chances_for_truth(question: Question, truth: Answer | None, right: float) -> Share:
    given = possible_answers(question)
    if len(given) == 1:
        return (1.0,)
    others = (1 - right) / (len(given) - 1)
    hits = [is_same(answer, truth) for answer in given]
    if not any(hits):  # the truth has no answer here, so a worker who gets the question guesses
        return uniform_share((1.0,) * len(given))
    return tuple(right if hit else others for hit in hits)
