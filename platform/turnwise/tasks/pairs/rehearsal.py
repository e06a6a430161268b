"""Simulated workers who compare pairs. They judge like other raters, with the sides in the order shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from typing_extensions import override

from evaluation.questions import FIRST, SECOND
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.items.pairs import texts_of_first_named
from turnwise.rehearsals.injected_effects import Answers, Kind, Plan
from turnwise.rehearsals.rehearsed_task import Crowd
from turnwise.rehearsals.simulated_answers import State, possible_answers
from turnwise.studies.models import Study
from turnwise.tasks.judging.rehearsal import Rater, answer_plan, rater_crowd

_OTHER = {FIRST: SECOND, SECOND: FIRST}


@dataclass
class PairPlan(Plan):
    """Planned answers about pairs, with the systems in the order of their names."""

    @override
    def answer_chances(self, state: State, kind: Kind) -> State:
        """Chances of each answer. Straight-lining means either system half of the time."""
        chances = super().answer_chances(state, kind)
        if kind is not Kind.STRAIGHT_LINING:
            return chances
        return tuple(
            tuple(0.5 if answer in _OTHER else 0.0 for answer in possible_answers(question))
            if question.is_sided
            else share
            for question, share in zip(self.questions.questions, chances, strict=True)
        )

    def first_answers(self) -> Answers:
        """Answers of straight-lining workers as the page gets them: the first choice of each question."""
        first = {question.key: possible_answers(question)[0] for question in self.questions.questions}
        return {key: answer for key, answer in first.items() if answer is not None}

    def turned(self, answers: Answers) -> Answers:
        """Exchange the sides in answers, between the order of the names and that of the page."""
        sided = {question.key for question in self.questions.questions if question.is_sided}
        return {
            key: _OTHER.get(str(answer), answer) if key in sided else answer
            for key, answer in answers.items()
        }


@dataclass
class Comparer(Rater):
    """A simulated worker who compares pairs.

    Attributes:
        named_first: texts of the system whose name comes first, by the key of the item.
        swapped: items that this worker sees with that system second.
    """

    named_first: Mapping[str, list[str]] = field(default_factory=dict)
    swapped: set[str] = field(default_factory=set)

    @override
    def keys(self, items: list[dict[str, Any]]) -> list[str]:
        for item in items:
            if item["sides"][0]["texts"] != self.named_first[item["key"]]:
                self.swapped.add(item["key"])
        return super().keys(items)

    def plan_of(self, item: str) -> PairPlan:
        """The planned answers of the item's ask."""
        plan = self._plan(item)
        assert isinstance(plan, PairPlan)
        return plan

    @override
    def dealt(self, item: str) -> Answers:
        if self.kind is not Kind.STRAIGHT_LINING:
            return super().dealt(item)
        return self.sent(item, self.plan_of(item).first_answers())

    @override
    def sent(self, item: str, answers: Answers) -> Answers:
        """Swap sided answers of swapped items, between the order of the names and that of the page."""
        return self.plan_of(item).turned(answers) if item in self.swapped else answers


def raters(rehearsal: Study, server: str, workers: int) -> Crowd:
    """Simulated raters of pairs; the injected effect is a preference between two systems."""
    plans = [answer_plan(ask, PairPlan) for ask in asks_of_readers(rehearsal)]
    named = texts_of_first_named(rehearsal)
    rater = partial(Comparer, plan=plans[0], beside=plans[1:], server=server, named_first=named)
    return rater_crowd(rehearsal, workers, plans, rater)
