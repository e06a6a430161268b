"""Simulated raters of batteries, and checks of what the report says about repeated judgments."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import stdev
from typing import Any

from channels.db import database_sync_to_async
from typing_extensions import override

from evaluation.questions import QuestionSet
from evaluation.report.exclusion import FEWEST, rated
from evaluation.report.label_columns import of_all
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.batteries.battery_rules import as_json, battery_of
from turnwise.judging.items import subjects
from turnwise.judging.models import Battery, JudgingPlan, Slot
from turnwise.rehearsals import expected_results
from turnwise.rehearsals.findings import Finding, compare_with_interval
from turnwise.rehearsals.injected_effects import Answers, Kind, Plan
from turnwise.rehearsals.rehearsed_task import (
    Crowd,
    UnrehearsableError,
    WorkerProfile,
    latecomers,
    worker_profiles,
)
from turnwise.rehearsals.services import copy_study
from turnwise.rehearsals.simulated_answers import TEXT
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.studies.models import Study
from turnwise.tasks.judging.rehearsal import LEASE_SECONDS, Rater, Tab, answer_plan, systems_of

SAME = 0.8
"""Probability that an honest worker repeats a rating; otherwise it is one point off."""


@dataclass
class BatteryRater(Rater):
    """A simulated worker who judges a battery.

    Attributes:
        asks_reason: whether a reason is asked, by the item's name on the page.
        cards: key and occasion of an item, by its name on the page.
    """

    asks_reason: dict[str, bool] = field(default_factory=dict)
    cards: dict[str, tuple[str, int]] = field(default_factory=dict)

    @override
    def keys(self, items: list[dict[str, Any]]) -> list[str]:
        self.asks_reason.update({item["key"]: item["asks_reason"] for item in items})
        return super().keys(items)

    @override
    def sent(self, item: str, answers: Answers) -> Answers:
        free = self._plan(item).questions.free_texts
        closed = {key: answer for key, answer in answers.items() if key not in free}
        return closed | (dict.fromkeys(free, TEXT) if self.asks_reason[item] else {})

    @override
    async def _judge(self, tab: Tab, item: str, done: Work) -> None:
        key, occasion = await self._card(item)
        if occasion == 1:
            await self._judge_as(tab, item, key, done)
            return
        answers = done.second_labels.get(key) or self._second_answers(key, self._labels(key, done)[key])
        if await self._saved(tab, item, answers):
            done.second_labels[key] = answers

    async def _card(self, item: str) -> tuple[str, int]:
        """Key and occasion of the item with this name on the page, which does not reveal them."""
        if item not in self.cards:
            found = Slot.objects.filter(key=item).values_list("item__key", "occasion")
            key, occasion = await database_sync_to_async(found.get)()
            self.cards[item] = str(key), occasion
            self.asked[str(key)] = self.asked[item]
        return self.cards[item]

    def _second_answers(self, key: str, first: Answers) -> Answers:
        """Answers of this worker about an item that comes a second time."""
        if self.kind is Kind.CARELESS:
            return self._plan(key).deal(key, self.kind)
        if self.kind is Kind.STRAIGHT_LINING:
            return first
        plan = self._plan(key)
        return first | {name: self._near(plan, name, first[name]) for name in rated(plan.questions)}

    def _near(self, plan: Plan, name: str, first: Any) -> Any:
        values = [choice.value for choice in plan.questions.question(name).choices]
        if plan._next(("again", name), {True: SAME, False: 1 - SAME}):
            return first
        at = values.index(first)
        return values[at + 1] if at + 1 < len(values) else values[at - 1]


def copy_with_batteries(study: Study, battery: Battery, workers: int) -> Study:
    """A copy of the study in which each of these workers gets a battery."""
    profiles = worker_profiles(workers, study.languages)
    stay = Counter(seat.language for seat in profiles if seat.kind is not Kind.LEAVING)
    if min(stay[code] for code in study.languages) < 2:
        raise UnrehearsableError(
            f"{workers} simulated workers are too few for {len(study.languages)} languages of batteries. Use "
            "--workers 30 or more."
        )
    plan = JudgingPlan.objects.get(study=study)
    copy = copy_study(study, {})
    plan_of_copy = JudgingPlan.objects.create(
        study=copy,
        batch_size=plan.batch_size,
        lease_seconds=min(plan.lease_seconds, LEASE_SECONDS),
        shows_reading=plan.shows_reading,
    )
    for language in study.languages:
        subjects.add_items_of(copy, study, language=language, items=study.items.count())
    wanted = max(stay[code] for code in study.languages)
    subjects.save_battery(
        Battery(plan=plan_of_copy, **(as_json(battery) | {"workers": wanted, "seed": battery.seed}))
    )
    return copy


def raters(rehearsal: Study, server: str, workers: int) -> Crowd:
    """Simulated raters, each of whom gets a battery. Batteries of workers who leave go to latecomers."""
    asks, battery = asks_of_readers(rehearsal), battery_of(rehearsal)
    assert battery
    plans, systems = [answer_plan(ask) for ask in asks], systems_of(asks[0])
    rater = partial(BatteryRater, server=server, link=rehearsal.get_entry_url(), plan=plans[0])
    placed = worker_profiles(workers, rehearsal.languages)
    leaving = Counter(seat.language for seat in placed if seat.kind is Kind.LEAVING)

    def worker(number: int, seat: WorkerProfile) -> SimulatedWorker:
        return rater(number, seat.kind, beside=plans[1:], language=_language_choice(rehearsal, seat))

    return Crowd(
        plans[0],
        placed,
        latecomers(placed, max(leaving.values(), default=0)),
        worker,
        raters=max(1, battery.workers * len(rehearsal.languages) // max(Counter(systems.values()).values())),
        further_plans=plans[1:],
        further_findings=partial(findings, plans, battery),
    )


def _language_choice(study: Study, seat: WorkerProfile) -> str:
    return seat.language if len(study.languages) > 1 else ""


@dataclass(frozen=True)
class _WorkerAnswers:
    """A worker's answers to one ask: the first ones, and those about items that came again."""

    first: Mapping[str, Answers]
    again: Mapping[str, Answers]


def findings(
    plans: Sequence[Plan], battery: Battery, done: Sequence[Work], result: Mapping[str, Any]
) -> list[Finding]:
    """Compare what is particular to batteries with the report, ask by ask, and the proposed exclusions."""
    answers = [list(_answers_by_ask(work, len(plans))) for work in done]
    found = []
    for ask, (plan, figures) in enumerate(zip(plans, [result, *result.get("beside", ())], strict=True)):
        of_battery = of_all(figures)["battery"]
        found += _paired(plan, battery, of_battery)
        found += [_repeated(row, [each[ask] for each in answers]) for row in of_battery["repeats"]]
    broken = sum(
        any(_breaks(plan.questions, battery, of_ask) for plan, of_ask in zip(plans, each, strict=True))
        for each in answers
    )
    return [*found, _proposed(broken, result["proposed"]["workers"])]


def _answers_by_ask(work: Work, asks: int) -> Iterator[_WorkerAnswers]:
    """Yield the worker's answers ask by ask; empty ones if the worker has not begun."""
    for labels in (work.labels, *(work.further_labels or [{}] * (asks - 1))):
        yield _WorkerAnswers(
            labels, {key: given for key, given in work.second_labels.items() if key in labels}
        )


def _paired(plan: Plan, battery: Battery, of_battery: Mapping[str, Any]) -> list[Finding]:
    reference, found = expected_results.expected_means(plan, battery.compared_with), []
    for score in of_battery["paired"]:
        for row in score["rows"]:
            injected = (
                expected_results.expected_means(plan, row["target"])[score["key"]] - reference[score["key"]]
            )
            what = f"{score['title']} of {row['target']} less {battery.compared_with}, within workers"
            found.append(
                compare_with_interval(what, injected, row["difference"], row, row.get("undefined", ""), 2)
            )
    return found


def _repeated(row: Mapping[str, Any], answers: Sequence[_WorkerAnswers]) -> Finding:
    """Compare counts of repeated judgments, which must agree exactly."""
    both = [
        (each.first[key][row["key"]], repeated[row["key"]])
        for each in answers
        for key, repeated in each.again.items()
    ]
    same = sum(first == second for first, second in both)
    reported = round(row.get("same", 0.0) * row["pairs"] / 100)
    return Finding(
        (row["pairs"], reported) == (len(both), same),
        f"“{row['question']}”: the report counts {row['pairs']} judged twice, {reported} of them alike; the "
        f"workers judged {len(both)} twice, {same} alike.",
    )


def _proposed(broken: int, proposed: Sequence[Any]) -> Finding:
    """Compare the number of workers who break a rule; simulated workers report no times."""
    return Finding(
        broken == len(proposed),
        f"The declared rules propose to exclude {len(proposed)} workers; of those who came, {broken} "
        "break one.",
    )


def _breaks(questions: QuestionSet, battery: Battery, answers: _WorkerAnswers) -> bool:
    keys = rated(questions)
    if not keys:
        return False
    sums = [sum(given[key] for key in keys) for given in (*answers.first.values(), *answers.again.values())]  # type: ignore[misc]  # ratings
    if battery.least_spread is not None and len(sums) >= FEWEST and stdev(sums) < battery.least_spread:
        return True
    if battery.repeat_points is None:
        return False
    gaps = [
        [abs(answers.first[thing][key] - repeated[key]) for key in keys]  # type: ignore[operator]  # ratings
        for thing, repeated in answers.again.items()
    ]
    return any(sum(gap > battery.repeat_points for gap in each) >= battery.repeat_questions for each in gaps)
