"""How simulated workers compare: as they judge, with both sides in the order in which they are shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from typing_extensions import override

from evaluation.questions import FIRST, SECOND
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.items.pairs import named_first
from turnwise.rehearsals.injected_effects import Answers, Kind, Plan
from turnwise.rehearsals.rehearsed_task import Crowd
from turnwise.rehearsals.scenarios import State, ways
from turnwise.studies.models import Study
from turnwise.tasks.judging.rehearsal import Rater, come, planned, with_queue

__all__ = ["raters", "with_queue"]

_OTHER = {FIRST: SECOND, SECOND: FIRST}


@dataclass
class PairPlan(Plan):
    """What is planted is about the systems of a pair in the order of their names."""

    @override
    def as_seen(self, state: State, kind: Kind) -> State:
        """Who always takes the side shown first takes either system half of the time."""
        seen = super().as_seen(state, kind)
        if kind is not Kind.STRAIGHT_LINING:
            return seen
        return tuple(
            tuple(0.5 if way in _OTHER else 0.0 for way in ways(question)) if question.is_sided else share
            for question, share in zip(self.questions.questions, seen, strict=True)
        )


@dataclass
class Comparer(Rater):
    """Someone who compares.

    Attributes:
        named_first: by the key of an item, the texts of the system whose name comes first.
        swapped: the items that are shown to this worker with that system second.
    """

    named_first: Mapping[str, list[str]] = field(default_factory=dict)
    swapped: set[str] = field(default_factory=set)

    @override
    def keys(self, items: list[dict[str, Any]]) -> list[str]:
        for item in items:
            if item["sides"][0]["texts"] != self.named_first[item["key"]]:
                self.swapped.add(item["key"])
        return super().keys(items)

    @override
    def dealt(self, item: str) -> Answers:
        if self.kind is not Kind.STRAIGHT_LINING:
            return super().dealt(item)
        first = {question.key: ways(question)[0] for question in self._plan(item).questions.questions}
        return self.sent(item, {key: way for key, way in first.items() if way is not None})

    @override
    def sent(self, item: str, answers: Answers) -> Answers:
        """Between the order of the names and the order on the page, either way."""
        if item not in self.swapped:
            return answers
        sided = {question.key for question in self._plan(item).questions.questions if question.is_sided}
        return {
            key: _OTHER.get(str(answer), answer) if key in sided else answer
            for key, answer in answers.items()
        }


def raters(rehearsal: Study, server: str, workers: int) -> Crowd:
    """As in a study that judges; what is planted of two systems is which of them is preferred."""
    plans = [planned(ask, PairPlan) for ask in asks_of_readers(rehearsal)]
    named = named_first(rehearsal)
    rater = partial(Comparer, plan=plans[0], beside=plans[1:], server=server, named_first=named)
    return come(rehearsal, workers, plans, rater)
