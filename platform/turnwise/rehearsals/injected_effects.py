"""What simulated workers answer, and what a report of their answers must come out as. Pure.

Each thing that is judged has a state, which decides how likely each kind of worker is to give each answer.
States and answers are dealt by twenties that hold each share as nearly as twenty can. So chance decides what
lies where but hardly the totals, and a report whose intervals miss what was planted is wrong, not unlucky.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from random import Random
from typing import Any, TypeVar

from evaluation.questions import Answer, QuestionSet
from turnwise.rehearsals.scenarios import Share, Shown, State, even, first, narrowed, rates, seen, ways

T = TypeVar("T")
Answers = dict[str, Answer]

DECK = 20
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


@dataclass
class Plan:
    """What is dealt to whom, and what was recorded for good.

    Attributes:
        questions: the study's.
        systems: whose words are judged, as the report calls them; each has rates of its own.
        alone: whether each thing is judged by one worker only, as the replies of a conversation are.
        rare: those of the systems of which too little is judged for more than counting.
        things: by name of a thing that is judged, the system that said it and its state.
        recorded: by name of a thing, who answered what.
    """

    questions: QuestionSet
    systems: Sequence[str]
    alone: bool
    rare: Collection[str] = ()
    things: dict[str, tuple[str, State]] = field(default_factory=dict)
    recorded: dict[str, list[tuple[Kind, Answers]]] = field(default_factory=dict)
    _decks: dict[tuple[Any, ...], Iterator[Any]] = field(default_factory=dict)

    # --- dealing -------------------------------------------------------------------------------------

    def meet(self, thing: str, system: str, shown: Shown | None = None) -> None:
        """Something that this system said is there to be judged; it gets its state.

        Of people who read before they talk, only the choices that are shown can be given.
        """
        if thing not in self.things:
            state = self._state(system)
            self.things[thing] = system, state if shown is None else narrowed(self.questions, state, shown)

    def _state(self, system: str) -> State:
        """How careful workers answer about the next thing of this system.

        Where one worker judges each thing, only the rates show, so all are alike. Where several do, each
        thing has a truth, in which answers are as frequent as the rates say, and is easy or hard to see.
        """
        of_system = rates(self.questions, self.systems.index(system))
        if self.alone:
            return of_system
        right = self._next(("difficulty", system), DIFFICULTIES)
        truth: Answers = {}
        for question, share in zip(self.questions.questions, of_system, strict=True):
            if question.asked_if is None or question.asked_if.holds(truth):
                way = self._next((question.key, system), dict(enumerate(share)))
                answer = ways(question)[way]
            else:
                answer = question.otherwise
            if answer is not None:
                truth[question.key] = answer
        return seen(self.questions, truth, right)

    def deal(self, thing: str, kind: Kind) -> Answers:
        """What a worker of this kind answers about it."""
        kind = Kind.CAREFUL if kind is Kind.TWO_TABS else kind
        system, state = self.things[thing]
        answers: Answers = {}
        for question, share in zip(self.questions.questions, self.as_seen(state, kind), strict=True):
            if question.asked_if is None or question.asked_if.holds(answers):
                way = self._next((question.key, system, share, kind), dict(enumerate(share)))
                if (answer := ways(question)[way]) is not None:
                    answers[question.key] = answer
        return answers

    def _next(self, deck: tuple[Any, ...], shares: Mapping[T, float]) -> T:
        if deck not in self._decks:
            self._decks[deck] = dealt(shares, Random(f"{SEED} {deck}"))
        found: T = next(self._decks[deck])
        return found

    def as_seen(self, state: State, kind: Kind) -> State:
        """How such a worker answers about a thing in this state, for each question if it is asked."""
        if kind is Kind.STRAIGHT_LINING:
            return tuple(first(share) for share in state)
        if kind is Kind.CARELESS:
            return tuple(even(share) for share in state)
        return state

    def slip(self, answers: Answers) -> Answers:
        """Other answers than these, by somebody who will take them back."""
        for question in self.questions.questions:
            for other in ways(question):
                changed = self._with(answers, question.key, other)
                if self.questions.check(changed) != self.questions.check(answers):
                    return changed
        raise ValueError(f"The set “{self.questions.key}” can be answered in one way only.")

    def _with(self, answers: Answers, key: str, other: Answer | None) -> Answers:
        """These answers with another one; what is then asked, too, gets the first answer there is."""
        changed: Answers = {}
        for question in self.questions.questions:
            if question.asked_if is not None and not question.asked_if.holds(changed):
                continue
            answer = other if question.key == key else answers.get(question.key, ways(question)[0])
            if answer is not None:
                changed[question.key] = answer
        return changed

    # --- what came of it -----------------------------------------------------------------------------

    def note(self, thing: str, kind: Kind, answers: Answers) -> None:
        """These answers are saved for good, so the report must count them."""
        self.recorded.setdefault(thing, []).append((kind, self.questions.check(answers)))

    def labels(self, system: str) -> list[Answers]:
        """All that was recorded about this system."""
        of_system = [given for thing, given in self.recorded.items() if self.things[thing][0] == system]
        return [answers for given in of_system for _, answers in given]

    def units(self, kinds: Sequence[Kind] = tuple(Kind), system: str | None = None) -> list[list[State]]:
        """For each thing, how each worker of these kinds who judged it was to answer."""
        return [
            [self.as_seen(self.things[thing][1], kind) for kind, _ in given if kind in kinds]
            for thing, given in self.recorded.items()
            if system in (None, self.things[thing][0])
        ]

    def mixed(self, shares: Mapping[Kind, float]) -> list[State]:
        """For each thing, the answers of a worker of whom nobody knows the kind."""
        return [
            tuple(
                _mixture([(share, self.as_seen(state, kind)[question]) for kind, share in shares.items()])
                for question, _ in enumerate(state)
            )
            for _, state in self.things.values()
        ]


def _mixture(shares: Sequence[tuple[float, Share]]) -> Share:
    return tuple(
        sum(weight * chance for weight, chance in zip((w for w, _ in shares), chances, strict=True))
        for chances in zip(*(share for _, share in shares), strict=True)
    )


def dealt(shares: Mapping[T, float], random: Random) -> Iterator[T]:
    """Without end, by shuffled twenties: each value in its share, give or take one.

    Systematic sampling with a random start (Madow 1949): of twenty, each value is expected exactly as often
    as its share says.
    """
    values, ends = list(shares), list(accumulate(shares.values()))
    while True:
        start, found, at = random.random(), [], 0
        for point in range(DECK):
            while at < len(ends) - 1 and ends[at] * DECK <= start + point:
                at += 1
            found.append(values[at])
        random.shuffle(found)
        yield from found
