"""What simulated workers answer, and what a report of their answers must come out as. Pure.

Each thing that is judged has a state, which decides how likely each kind of worker is to answer yes. States
and answers are dealt by twenties that hold each share as nearly as twenty can. So chance decides what lies
where but hardly the totals, and a report whose intervals miss what was planted is wrong, not unlucky.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import accumulate
from random import Random
from typing import TypeAlias, TypeVar

from evaluation.expected import Chances, expected_alpha, expected_majority, expected_share
from evaluation.interval import Undefined
from evaluation.questions import Answer, Level, QuestionSet

T = TypeVar("T")
Answers = dict[str, Answer]
Card: TypeAlias = tuple[tuple[str, bool], ...]
"""Answers to the questions that are asked, in their order."""
State: TypeAlias = tuple[float, ...]
"""For each question, the chance that a careful worker who is asked it says yes."""

DECK = 20
# Shares of yes, by system and question; a question that depends on another has its share where it is asked.
SHARES = ((0.8, 0.625), (0.6, 0.5), (0.9, 0.8), (0.7, 0.5))
# Of items with several raters: how often a careful one finds the truth, and how many items are like that.
DIFFICULTIES = {0.95: 0.75, 0.7: 0.25}
SEED = 20_010_997


class Kind(StrEnum):
    """How a simulated worker works."""

    CAREFUL = "careful"
    TWO_TABS = "two tabs"
    CARELESS = "careless"
    STRAIGHT_LINING = "straight-lining"
    LEAVING = "leaving"


HONEST = (Kind.CAREFUL, Kind.TWO_TABS, Kind.LEAVING)
"""Those who answer by the planted rates; the report is to find them without the others."""

_ROUND = (
    Kind.CAREFUL, Kind.TWO_TABS, Kind.CARELESS, Kind.CAREFUL, Kind.STRAIGHT_LINING,
    Kind.CAREFUL, Kind.LEAVING, Kind.CAREFUL, Kind.CAREFUL, Kind.CAREFUL,
)  # fmt: skip


def mix(workers: int) -> list[Kind]:
    """The kind of each worker: of ten, seven honest ones, one careless, one straight-lining, one leaving.

    Each ten begin with the next kind. Bots are given in turns, so without that all those who leave could get
    the same one of two.
    """
    return [_ROUND[(number + number // len(_ROUND)) % len(_ROUND)] for number in range(workers)]


class UnplantableError(ValueError):
    """The questions have other answers than yes and no."""


@dataclass
class Plan:
    """What is dealt to whom, and what was recorded for good.

    Attributes:
        questions: the study's, all with yes or no for an answer.
        systems: whose words are judged, as the report calls them; each has rates of its own.
        alone: whether each thing is judged by one worker only, as the replies of a conversation are.
        things: by name of a thing that is judged, the system that said it and its state.
        recorded: by name of a thing, who answered what.
    """

    questions: QuestionSet
    systems: Sequence[str]
    alone: bool
    things: dict[str, tuple[str, State]] = field(default_factory=dict)
    recorded: dict[str, list[tuple[Kind, Answers]]] = field(default_factory=dict)
    _states: dict[str, Iterator[State]] = field(default_factory=dict)
    _decks: dict[tuple[str, State, Kind], Iterator[Card]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        other = [question.key for question in self.questions.questions if question.level is not Level.BINARY]
        if other:
            raise UnplantableError(
                f"The questions {', '.join(other)} have other answers than yes and no, and a rehearsal can "
                "plant yes and no only. Rehearse a study with the same plan that asks yes-or-no questions."
            )

    # --- dealing -------------------------------------------------------------------------------------

    def meet(self, thing: str, system: str) -> None:
        """Something that this system said is there to be judged; it gets its state."""
        if system not in self._states:
            shares = states(self.questions, self._rates(system), alone=self.alone)
            self._states[system] = _dealt(shares, Random(f"{SEED} {system}"))
        if thing not in self.things:
            self.things[thing] = system, next(self._states[system])

    def deal(self, thing: str, kind: Kind) -> Answers:
        """What a worker of this kind answers about it."""
        kind = Kind.CAREFUL if kind is Kind.TWO_TABS else kind
        system, state = self.things[thing]
        deck = (system, state, kind)
        if deck not in self._decks:
            shares = cards(self.questions, _chances(state, kind))
            self._decks[deck] = _dealt(shares, Random(f"{SEED} {deck}"))
        return dict(next(self._decks[deck]))

    def slip(self, answers: Answers) -> Answers:
        """Other answers than these, by somebody who will take them back."""
        ways = cards(self.questions, tuple(0.5 for _ in self.questions.questions))
        return next(dict(card) for card in ways if dict(card) != answers)

    def foreseen(self, shares: Mapping[Kind, float], raters: int) -> dict[str, float | Undefined]:
        """By question, the alpha of all things, if each had raters of all kinds in these shares."""
        found = {}
        for key in self._keys:
            even = [
                sum(share * chance_of_yes(self.questions, key, state, kind) for kind, share in shares.items())
                for _, state in self.things.values()
            ]
            found[key] = expected_alpha([[chance] * raters for chance in even])
        return found

    def _rates(self, system: str) -> State:
        shares = SHARES[self.systems.index(system) % len(SHARES)]
        return tuple(shares[nth % len(shares)] for nth, _ in enumerate(self.questions.questions))

    # --- what came of it -----------------------------------------------------------------------------

    def note(self, thing: str, kind: Kind, answers: Answers) -> None:
        """These answers are saved for good, so the report must count them."""
        self.recorded.setdefault(thing, []).append((kind, self.questions.check(answers)))

    def labels(self, system: str) -> list[Answers]:
        """All that was recorded about this system."""
        of_system = [given for thing, given in self.recorded.items() if self.things[thing][0] == system]
        return [answers for given in of_system for _, answers in given]

    def means(self, system: str, kinds: Sequence[Kind] = tuple(Kind)) -> dict[str, float]:
        """By column of the report, the percentage of yes that these workers were to give; {} without any."""
        return self._of_columns({key: expected_share(self._units(key, kinds, system)) for key in self._keys})

    def majorities(self, system: str) -> dict[str, float]:
        """By column, the percentage of things on which more than half of the raters were to say yes."""
        found = {key: expected_majority(self._units(key, tuple(Kind), system)) for key in self._keys}
        return self._of_columns(found)

    def alpha(self, key: str) -> float | Undefined:
        """Krippendorff's alpha that the answers of all workers to this question were to have."""
        return expected_alpha(self._units(key, tuple(Kind)))

    @property
    def _keys(self) -> list[str]:
        return [question.key for question in self.questions.questions]

    def _units(self, key: str, kinds: Sequence[Kind], system: str | None = None) -> list[Chances]:
        """For each thing, the chance of a yes of each worker who judged it."""
        return [
            [
                chance_of_yes(self.questions, key, self.things[thing][1], kind)
                for kind, _ in given
                if kind in kinds
            ]
            for thing, given in self.recorded.items()
            if system in (None, self.things[thing][0])
        ]

    def _of_columns(self, shares: Mapping[str, float | Undefined]) -> dict[str, float]:
        percent = {key: 100 * share for key, share in shares.items() if not isinstance(share, Undefined)}
        both = (
            {"ssa": sum(percent.values()) / len(percent)} if self.questions.key == "ssa" and percent else {}
        )
        return {**percent, **both}


@cache
def chance_of_yes(questions: QuestionSet, key: str, state: State, kind: Kind) -> float:
    """How likely such a worker is to leave a yes to this question, whether they are asked it or not."""
    shares = cards(questions, _chances(state, kind))
    return sum(share for card, share in shares.items() if questions.check(dict(card)).get(key) is True)


def _chances(state: State, kind: Kind) -> State:
    if kind is Kind.STRAIGHT_LINING:
        return tuple(1.0 for _ in state)
    if kind is Kind.CARELESS:
        return tuple(0.5 for _ in state)
    return state


def states(questions: QuestionSet, rates: State, *, alone: bool) -> dict[State, float]:
    """The states of what a system says, with their shares.

    Where one worker judges each thing, only the rates show, so there is one state. Where several do, each
    thing has a truth, in which yes is as frequent as the rates say, and is easy or hard to see through.
    """
    if alone:
        return {rates: 1.0}
    found: dict[State, float] = {}
    for truth, share in cards(questions, rates).items():
        for right, like_that in DIFFICULTIES.items():
            state = tuple(right if dict(truth).get(q.key) else 1 - right for q in questions.questions)
            found[state] = found.get(state, 0) + share * like_that
    return found


def cards(questions: QuestionSet, chances: State) -> dict[Card, float]:
    """All ways to answer, with their shares; a question is answered where it is asked."""
    found: dict[Card, float] = {(): 1.0}
    for question, chance in zip(questions.questions, chances, strict=True):
        grown: dict[Card, float] = {}
        for card, share in found.items():
            condition = question.asked_if
            if condition and dict(card).get(condition.question) != condition.equals:
                grown[card] = share
                continue
            grown[(*card, (question.key, False))] = share * (1 - chance)
            grown[(*card, (question.key, True))] = share * chance
        found = grown
    return {card: share for card, share in found.items() if share}


def _dealt(shares: Mapping[T, float], random: Random) -> Iterator[T]:
    """Without end, by shuffled twenties: each value in its share, give or take one.

    Systematic sampling with a random start (Madow 1949): of twenty, each value is expected exactly as often
    as its share says.
    """
    values, ends = list(shares), list(accumulate(shares.values()))
    while True:
        start, dealt, at = random.random(), [], 0
        for point in range(DECK):
            while at < len(ends) - 1 and ends[at] * DECK <= start + point:
                at += 1
            dealt.append(values[at])
        random.shuffle(dealt)
        yield from dealt
