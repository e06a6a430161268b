"""What simulated workers answer. Labels are dealt from shuffled decks that hold each rate exactly.

So chance decides the order of the labels but not their shares, and a report whose intervals miss
what was planted is wrong, not unlucky. Pure.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from evaluation.questions import Answer, Level, QuestionSet

Answers = dict[str, Answer]
DECK = 20
# Shares of yes, by bot and question; a question that depends on another has its share where it is asked.
SHARES = ((0.8, 0.625), (0.6, 0.5), (0.9, 0.8), (0.7, 0.5))
SEED = 20_010_997


class Kind(StrEnum):
    """How a simulated worker works."""

    CAREFUL = "careful"
    TWO_TABS = "two tabs"
    CARELESS = "careless"
    STRAIGHT_LINING = "straight-lining"
    LEAVING = "leaving"


HONEST = (Kind.CAREFUL, Kind.TWO_TABS)
"""Those who answer by the planted rates; the report is to find them without the others."""

_ROUND = (
    Kind.CAREFUL, Kind.TWO_TABS, Kind.CARELESS, Kind.CAREFUL, Kind.STRAIGHT_LINING,
    Kind.CAREFUL, Kind.LEAVING, Kind.CAREFUL, Kind.CAREFUL, Kind.CAREFUL,
)  # fmt: skip


def mix(workers: int) -> list[Kind]:
    """The kind of each worker: of ten, seven honest ones, one careless, one straight-lining, one leaving."""
    return [_ROUND[number % len(_ROUND)] for number in range(workers)]


class UnplantableError(ValueError):
    """The questions have other answers than yes and no."""


@dataclass
class Plan:
    """What is dealt to whom, and what was dealt.

    Attributes:
        questions: the study's, all with yes or no for an answer.
        bots: names of the study's bots; each has rates of its own.
        dealt: by bot and kind of worker, how often each combination of answers was recorded for good.
    """

    questions: QuestionSet
    bots: Sequence[str]
    dealt: dict[tuple[str, Kind], Counter[tuple[Answer, ...]]] = field(default_factory=dict)
    _decks: dict[tuple[str, Kind], Iterator[Answers]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        other = [question.key for question in self.questions.questions if question.level is not Level.BINARY]
        if other:
            raise UnplantableError(
                f"The questions {', '.join(other)} have other answers than yes and no. "
                "A rehearsal can plant answers to yes-or-no questions only."
            )

    def deal(self, bot: str, kind: Kind) -> Answers:
        """The next label of a worker of this kind about a reply of this bot."""
        kind = Kind.CAREFUL if kind in HONEST else kind
        if (bot, kind) not in self._decks:
            self._decks[bot, kind] = self._endless(bot, kind)
        return next(self._decks[bot, kind])

    def note(self, bot: str, kind: Kind, labels: Sequence[Answers]) -> None:
        """These labels are in a finished conversation, so the report must count them."""
        counted = self.dealt.setdefault((bot, kind), Counter())
        counted.update(tuple(label.values()) for label in map(self.questions.check, labels))

    def labels(self, bot: str, kinds: Sequence[Kind]) -> int:
        return sum(self.dealt.get((bot, kind), Counter()).total() for kind in kinds)

    def planted(self, bot: str, kinds: Sequence[Kind]) -> dict[str, float]:
        """By question, the share of yes in percent that these workers were to give; {} without labels."""
        labels = self.labels(bot, kinds)
        if not labels:
            return {}
        shares: dict[str, float] = {}
        for question in self.questions.questions:
            yes = sum(
                self.labels(bot, [kind]) * self._share_in_deck(bot, kind, question.key) for kind in kinds
            )
            shares[question.key] = 100 * yes / labels
        return shares

    def recorded(self, bot: str, key: str) -> int:
        """Labels about this bot in finished conversations that answer this question with yes."""
        at = [question.key for question in self.questions.questions].index(key)
        return sum(
            times
            for (of, _), counted in self.dealt.items()
            if of == bot
            for answers, times in counted.items()
            if answers[at] is True
        )

    def _endless(self, bot: str, kind: Kind) -> Iterator[Answers]:
        cards, random = self._deck(bot, kind), Random(f"{SEED} {bot} {kind}")
        while True:
            random.shuffle(cards)
            yield from [dict(card) for card in cards]

    def _share_in_deck(self, bot: str, kind: Kind, key: str) -> float:
        cards = self._deck(bot, kind)
        return sum(self.questions.check(card)[key] is True for card in cards) / len(cards)

    def _deck(self, bot: str, kind: Kind) -> list[Answers]:
        """Twenty labels with the shares of this bot, as near as twenty allow."""
        cards: list[Answers] = [{} for _ in range(DECK)]
        for nth, question in enumerate(self.questions.questions):
            condition = question.asked_if
            asked = [
                card
                for card in cards
                if condition is None or card.get(condition.question) == condition.equals
            ]
            yes = round(self._share(bot, kind, nth) * len(asked))
            for place, card in enumerate(asked):
                card[question.key] = place < yes
        return cards

    def _share(self, bot: str, kind: Kind, nth: int) -> float:
        if kind is Kind.STRAIGHT_LINING:
            return 1.0
        if kind is Kind.CARELESS:
            return 0.5
        shares = SHARES[self.bots.index(bot) % len(SHARES)]
        return shares[nth % len(shares)]


def in_report(questions: QuestionSet, shares: Mapping[str, float]) -> dict[str, float]:
    """By key of the report's columns: the shares, and for the SSA set their average."""
    both = {"ssa": sum(shares.values()) / len(shares)} if questions.key == "ssa" and shares else {}
    return {**shares, **both}
