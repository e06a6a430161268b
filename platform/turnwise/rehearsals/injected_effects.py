"""Answers of simulated workers, dealt so that the report must recover their known rates. Pure.

Each judged thing has a state, which gives the chance of each answer for each kind of worker. States and
answers are dealt in shuffled decks of twenty that hold each share as exactly as twenty cards can. So chance
decides the order but hardly the totals: a report whose intervals miss the injected rates is wrong, not
unlucky.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from random import Random
from typing import Any, TypeVar

from evaluation.questions import Answer, QuestionSet
from turnwise.rehearsals.simulated_answers import (
    Share,
    State,
    VisibleChoices,
    always_first,
    answer_rates,
    chances_for_truth,
    limit_to_choices,
    possible_answers,
    tilted,
    uniform_share,
)

T = TypeVar("T")
Answers = dict[str, Answer]

DECK = 20
# For items with several raters: chance that a careful rater finds the truth, and share of such items.
DIFFICULTIES = {0.95: 0.75, 0.7: 0.25}
SEED = 20_010_997


class Kind(StrEnum):
    """Kind of a simulated worker: careful, careless, or leaving early."""

    CAREFUL = "careful"
    TWO_TABS = "two tabs"
    CARELESS = "careless"
    STRAIGHT_LINING = "straight-lining"
    LEAVING = "leaving"


HONEST = (Kind.CAREFUL, Kind.TWO_TABS, Kind.LEAVING)
"""Kinds that answer by the injected rates; the report must recover these without the other kinds."""

_ROUND = (
    Kind.CAREFUL, Kind.TWO_TABS, Kind.CARELESS, Kind.CAREFUL, Kind.STRAIGHT_LINING,
    Kind.CAREFUL, Kind.LEAVING, Kind.CAREFUL, Kind.CAREFUL, Kind.CAREFUL,
)  # fmt: skip


def mix(workers: int) -> list[Kind]:
    """The kind of each worker: of ten, seven honest ones, one careless, one straight-lining, one leaving.

    Each ten begin with the next kind. Bots are assigned in turns, so without this shift all leaving workers
    could get the same one of two bots.
    """
    return [_ROUND[(number + number // len(_ROUND)) % len(_ROUND)] for number in range(workers)]


@dataclass
class Plan:
    """Answers dealt to simulated workers for one ask, and the ones that were saved.

    Attributes:
        questions: the question set.
        systems: judged systems, as the report calls them; each has its own rates.
        alone: each thing is judged by one worker only, like the replies of a conversation.
        counts_unfinished: labels count although their worker has left, as each is complete in itself.
        rare: systems with too few judged things for more than counting.
        things: system and state of each judged thing, by its name.
        recorded: saved answers with the worker's kind, by name of the thing.
    """

    questions: QuestionSet
    systems: Sequence[str]
    alone: bool
    counts_unfinished: bool = False
    rare: Collection[str] = ()
    things: dict[str, tuple[str, State]] = field(default_factory=dict)
    recorded: dict[str, list[tuple[Kind, Answers]]] = field(default_factory=dict)
    _decks: dict[tuple[Any, ...], Iterator[Any]] = field(default_factory=dict)

    # --- dealing -------------------------------------------------------------------------------------

    def meet(self, thing: str, system: str, shown: VisibleChoices | None = None, tilt: float = 0.0) -> None:
        """Register a thing of this system for judging and give it a state, unless it has one.

        `shown` limits the choices to those on the page, for workers who read different texts. `tilt` is the
        effect of the worker's condition (`simulated_answers.tilted`).
        """
        if thing not in self.things:
            state = tilted(self.questions, self._state(system), tilt) if tilt else self._state(system)
            self.things[thing] = (
                system,
                state if shown is None else limit_to_choices(self.questions, state, shown),
            )

    def _state(self, system: str) -> State:
        """State of the next thing of this system: the answers of careful workers.

        If one worker judges each thing, only the rates are visible, so all things are alike. If several do,
        each thing has a true answer, drawn by the rates, and is easy or hard to judge.
        """
        of_system = answer_rates(self.questions, self.systems.index(system))
        if self.alone:
            return of_system
        right = self._next(("difficulty", system), DIFFICULTIES)
        truth: Answers = {}
        for question, share in zip(self.questions.questions, of_system, strict=True):
            if question.asked_if is None or question.asked_if.holds(truth):
                index = self._next((question.key, system), dict(enumerate(share)))
                answer = possible_answers(question)[index]
            else:
                answer = question.otherwise
            if answer is not None:
                truth[question.key] = answer
        return chances_for_truth(self.questions, truth, right)

    def deal(self, thing: str, kind: Kind) -> Answers:
        """Answers of a worker of this kind about a thing."""
        kind = Kind.CAREFUL if kind is Kind.TWO_TABS else kind
        system, state = self.things[thing]
        answers: Answers = {}
        for question, share in zip(self.questions.questions, self.answer_chances(state, kind), strict=True):
            if question.asked_if is None or question.asked_if.holds(answers):
                index = self._next((question.key, system, share, kind), dict(enumerate(share)))
                if (answer := possible_answers(question)[index]) is not None:
                    answers[question.key] = answer
        return answers

    def _next(self, deck: tuple[Any, ...], shares: Mapping[T, float]) -> T:
        if deck not in self._decks:
            self._decks[deck] = dealt(shares, Random(f"{SEED} {deck}"))
        found: T = next(self._decks[deck])
        return found

    def answer_chances(self, state: State, kind: Kind) -> State:
        """Answer chances of a worker of this kind for a thing in this state, for each question."""
        if kind is Kind.STRAIGHT_LINING:
            return tuple(always_first(share) for share in state)
        if kind is Kind.CARELESS:
            return tuple(uniform_share(share) for share in state)
        return state

    def slip(self, answers: Answers) -> Answers:
        """Return different answers, given by mistake and corrected later."""
        for question in self.questions.questions:
            for other in possible_answers(question):
                changed = self._with(answers, question.key, other)
                if self.questions.check(changed) != self.questions.check(answers):
                    return changed
        raise ValueError(f"The set “{self.questions.key}” can be answered in one way only.")

    def _with(self, answers: Answers, key: str, other: Answer | None) -> Answers:
        """Replace one answer; questions that this adds get their first possible answer."""
        changed: Answers = {}
        for question in self.questions.questions:
            if question.asked_if is not None and not question.asked_if.holds(changed):
                continue
            answer = (
                other if question.key == key else answers.get(question.key, possible_answers(question)[0])
            )
            if answer is not None:
                changed[question.key] = answer
        return changed

    # --- saved answers -------------------------------------------------------------------------------

    def note(self, thing: str, kind: Kind, answers: Answers) -> None:
        """Record saved answers, which the report must count."""
        self.recorded.setdefault(thing, []).append((kind, self.questions.check(answers)))

    def labels(self, system: str) -> list[Answers]:
        """All recorded answers about this system."""
        of_system = [labels for thing, labels in self.recorded.items() if self.things[thing][0] == system]
        return [answers for labels in of_system for _, answers in labels]

    def units(self, kinds: Sequence[Kind] = tuple(Kind), system: str | None = None) -> list[list[State]]:
        """For each judged thing, the answer chances of its raters of these kinds."""
        return [
            [self.answer_chances(self.things[thing][1], kind) for kind, _ in labels if kind in kinds]
            for thing, labels in self.recorded.items()
            if system in (None, self.things[thing][0])
        ]

    def mixed(self, shares: Mapping[Kind, float]) -> list[State]:
        """For each thing, the answer chances of a worker of unknown kind, with kinds in these shares."""
        return [
            tuple(
                _mixture(
                    [(share, self.answer_chances(state, kind)[question]) for kind, share in shares.items()]
                )
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
    """Deal values without end in shuffled decks of twenty: each value in its share, give or take one.

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
