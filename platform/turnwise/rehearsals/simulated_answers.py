"""Answers and texts of simulated workers, with the chance of each answer. Pure functions."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TypeAlias

from evaluation.questions import Answer, Kind, Level, Question, QuestionSet, is_same

SENTENCES = (
    "Hello! How is your day going so far?",
    "I have just planted tomatoes on my balcony.",
    "My train was late again, an hour and a half!",
    "Which season do you like best? Mine is autumn.",
    "Lately somebody lent me a wonderful book about whales.",
    "Piano lessons begin next Thursday, and nobody in our family plays.",
    "Did anything funny happen at work this week?",
    "We painted both bedrooms green; grandmother calls it brave.",
    "Cooking relaxes me more than any film does.",
    "There were foxes behind the school yesterday evening.",
    "Swimming in cold lakes sounds horrible, yet people love it.",
    "Could robots write better jokes than uncles?",
    "Our neighbour repairs old radios for fun.",
    "Honestly, mornings and I will never be friends.",
    "The museum near here shows maps drawn by sailors.",
    "Once I got lost inside a supermarket for twenty minutes.",
    "Cheese tastes different after midnight, try it!",
    "Football bores me, but stadium noise is magic.",
    "How many languages would you learn if time stood still?",
    "Yesterday's thunderstorm broke two windows downstairs.",
    "Coffee or tea? Please choose carefully.",
    "Small towns have the best bakeries, always.",
    "My cousin collects stamps showing bridges.",
    "Imagine living on top of a lighthouse!",
    "Last winter every pipe in this building froze.",
    "Chess taught us patience, then poker took it away.",
    "What music helps you fall asleep quickly?",
    "Nobody warned me that kittens climb curtains.",
    "Long walks clear my head better than holidays.",
    "Public libraries should stay open until eleven.",
    "A parrot at the zoo greeted visitors politely.",
    "Tell me something surprising about your street.",
    "Rain makes the whole garden smell of pepper.",
    "Few things beat fresh bread with salted butter.",
    "Trains across mountains feel slower than they are.",
    "Her first bicycle was bright orange, without brakes.",
    "Somehow all clocks here disagree by seven minutes.",
    "Would anyone notice if Mondays disappeared?",
    "Fishing means sitting quietly with an excuse.",
    "They say honey keeps for thousands of years.",
)
ASSISTANT_TEXT = "Certainly! Here is a response that fits."
"""A typical beginning of an assistant program's text, which the server refuses from people."""
REPEATED_TEXT = "Yes, I think so too, it really is like that."
"""The message that straight-lining workers repeat."""
PROFANE_TEXT = "Well, that is bullshit, if you ask me."
COPIED_WORDS = 12
"""Number of words that careless workers copy from their reading material."""
COPY_PREFIX = "Look here:"


def message_text(number: int, seat: int, message: int) -> str:
    """Text of a worker's message with this number; the two seats share no text."""
    return SENTENCES[(2 * (number + message) + seat) % len(SENTENCES)]


def response_text(worker: int, number: int) -> str:
    """Response of a worker to one context, different for each: one sentence, or two from the 41st on."""
    first, beyond = (worker + number) % len(SENTENCES), number // len(SENTENCES)
    second = SENTENCES[(first + beyond) % len(SENTENCES)]
    return f"{SENTENCES[first]} {second}" if beyond else SENTENCES[first]


def copied_text(texts: Sequence[str]) -> str:
    """A message that copies words from the first text that is long enough; empty if none is."""
    for text in texts:
        if len(words := text.split()) >= COPIED_WORDS:
            return f"{COPY_PREFIX} {' '.join(words[:COPIED_WORDS])}"
    return ""


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


def limit_to_choices(questions: QuestionSet, state: State, visible: VisibleChoices) -> State:
    """Remove answers with choices that are not on the page; the others keep their proportions."""
    return tuple(
        _limit_to_choices(question, share, visible.get(question.key))
        for question, share in zip(questions.questions, state, strict=True)
    )


def _limit_to_choices(question: Question, share: Share, visible: Collection[Answer] | None) -> Share:
    if question.kind is not Kind.SEVERAL or visible is None:
        return share
    chances = [
        chance if all(each in visible for each in (answer if isinstance(answer, list) else ())) else 0.0
        for answer, chance in zip(possible_answers(question), share, strict=True)
    ]
    return tuple(chance / sum(chances) for chance in chances)


def tilted(questions: QuestionSet, state: State, amount: float) -> State:
    """Move this share of each answer's chance to the rarest answer, as an effect of a condition.

    Args:
        questions: the question set.
        state: chances of the answers.
        amount: share that is moved, from 0 to 1. The chance of no answer stays.
    """
    return tuple(
        _tilted(question, share, amount) for question, share in zip(questions.questions, state, strict=True)
    )


def _tilted(question: Question, share: Share, amount: float) -> Share:
    given = [
        index
        for index, answer in enumerate(possible_answers(question))
        if answer is not None and share[index] > 0
    ]
    if len(given) < 2:
        return share
    rarest = min(given, key=lambda index: share[index])
    moved = {index: amount * share[index] for index in given if index != rarest}
    moved[rarest] = -sum(moved.values())
    return tuple(chance - moved.get(index, 0.0) for index, chance in enumerate(share))


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
    answers = possible_answers(question)
    if len(answers) == 1:
        return (1.0,)
    others = (1 - right) / (len(answers) - 1)
    hits = [is_same(answer, truth) for answer in answers]
    if not any(hits):  # the truth has no answer here, so a worker who gets the question guesses
        return uniform_share((1.0,) * len(answers))
    return tuple(right if hit else others for hit in hits)
