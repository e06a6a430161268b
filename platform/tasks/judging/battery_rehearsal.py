"""How simulated workers judge batteries, and what the report must say of what they judged twice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import stdev
from typing import Any

from channels.db import database_sync_to_async
from typing_extensions import override

from evaluation.questions import Kind as QuestionKind
from evaluation.questions import QuestionSet
from evaluation.report.analysis import of_all
from evaluation.report.exclusion import FEWEST, rated
from judging import subjects
from judging.asks import asks_of_readers
from judging.batteries import as_json, battery_of
from judging.models import Battery, JudgingPlan, Slot
from rehearsals import truth
from rehearsals.findings import Finding, inside
from rehearsals.planted import Answers, Kind, Plan
from rehearsals.rehearsed import Crowd, UnrehearsableError
from rehearsals.room import Seat, latecomers, seats
from rehearsals.services import copied
from rehearsals.simulated import SimulatedWorker, Work
from rehearsals.ways import TEXT
from studies.models import Study
from tasks.judging.rehearsal import LEASE_SECONDS, Rater, Tab, planned, systems_of

SAME = 0.8
"""How often an honest worker repeats a rating; else they are a point off."""


@dataclass
class BatteryRater(Rater):
    """Someone who judges a battery.

    Attributes:
        asks_reason: by the name of an item on the page, whether a reason is asked of it.
        cards: by the same, the item's key and the occasion.
    """

    asks_reason: dict[str, bool] = field(default_factory=dict)
    cards: dict[str, tuple[str, int]] = field(default_factory=dict)

    @override
    def keys(self, items: list[dict[str, Any]]) -> list[str]:
        self.asks_reason.update({item["key"]: item["asks_reason"] for item in items})
        return super().keys(items)

    @override
    def sent(self, item: str, answers: Answers) -> Answers:
        free = [each.key for each in self.plan.questions.questions if each.kind is QuestionKind.TEXT]
        kept = {key: answer for key, answer in answers.items() if key not in free}
        return kept | (dict.fromkeys(free, TEXT) if self.asks_reason[item] else {})

    @override
    async def _judge(self, tab: Tab, item: str, done: Work) -> None:
        key, occasion = await self._card(item)
        if occasion == 1:
            await self._judge_as(tab, item, key, done)
            return
        answers = done.again.get(key) or self._again(key, done.labels[key])
        if await self._saved(tab, item, answers):
            done.again[key] = answers

    async def _card(self, item: str) -> tuple[str, int]:
        """The item behind its name on the page, which tells nobody."""
        if item not in self.cards:
            found = Slot.objects.filter(key=item).values_list("item__key", "occasion")
            key, occasion = await database_sync_to_async(found.get)()
            self.cards[item] = str(key), occasion
        return self.cards[item]

    def _again(self, key: str, first: Answers) -> Answers:
        """What this worker says of something the second time."""
        if self.kind is Kind.CARELESS:
            return self.plan.deal(key, self.kind)
        if self.kind is Kind.STRAIGHT_LINING:
            return first
        questions = self.plan.questions
        return first | {name: self._near(questions, name, first[name]) for name in rated(questions)}

    def _near(self, questions: QuestionSet, name: str, first: Any) -> Any:
        values = [choice.value for choice in questions.question(name).choices]
        if self.plan._next(("again", name), {True: SAME, False: 1 - SAME}):
            return first
        at = values.index(first)
        return values[at + 1] if at + 1 < len(values) else values[at - 1]


def with_batteries(study: Study, battery: Battery, workers: int) -> Study:
    """A copy in which each of these workers gets a battery; who leaves, theirs goes to a latecomer."""
    come = seats(workers, study.languages)
    stay = Counter(seat.language for seat in come if seat.kind is not Kind.LEAVING)
    if min(stay[code] for code in study.languages) < 2:
        raise UnrehearsableError(
            f"{workers} simulated workers are too few for {len(study.languages)} languages of batteries. Use "
            "--workers 30 or more."
        )
    plan = JudgingPlan.objects.get(study=study)
    copy = copied(study, {})
    own = JudgingPlan.objects.create(
        study=copy,
        batch_size=plan.batch_size,
        lease_seconds=min(plan.lease_seconds, LEASE_SECONDS),
        shows_reading=plan.shows_reading,
    )
    for language in study.languages:
        subjects.add_items_of(copy, study, language=language, items=study.items.count())
    wanted = max(stay[code] for code in study.languages)
    subjects.save_battery(Battery(plan=own, **(as_json(battery) | {"workers": wanted, "seed": battery.seed})))
    return copy


def raters(rehearsal: Study, server: str, workers: int) -> Crowd:
    """As in a study with a queue, but each gets a battery."""
    (ask,), battery = asks_of_readers(rehearsal), battery_of(rehearsal)
    assert battery
    plan, systems = planned(ask), systems_of(ask)
    placed, link = seats(workers, rehearsal.languages), rehearsal.get_entry_url()
    leaving = Counter(seat.language for seat in placed if seat.kind is Kind.LEAVING)

    def worker(number: int, seat: Seat) -> SimulatedWorker:
        return BatteryRater(number, seat.kind, server, link, plan=plan, language=_chosen(rehearsal, seat))

    return Crowd(
        plan,
        placed,
        latecomers(placed, max(leaving.values(), default=0)),
        worker,
        raters=max(1, battery.workers * len(rehearsal.languages) // max(Counter(systems.values()).values())),
        also=partial(findings, plan, battery),
    )


def _chosen(study: Study, seat: Seat) -> str:
    return seat.language if len(study.languages) > 1 else ""


def findings(plan: Plan, battery: Battery, done: Sequence[Work], result: Mapping[str, Any]) -> list[Finding]:
    """What is particular to batteries, compared with the report."""
    everybody = of_all(result)["battery"]
    return [
        *_paired(plan, battery, everybody),
        *(_repeated(row, done) for row in everybody["repeats"]),
        _proposed(plan.questions, battery, done, result["proposed"]["workers"]),
    ]


def _paired(plan: Plan, battery: Battery, everybody: Mapping[str, Any]) -> list[Finding]:
    reference, found = truth.means(plan, battery.compared_with), []
    for score in everybody["paired"]:
        for row in score["rows"]:
            planted = truth.means(plan, row["target"])[score["key"]] - reference[score["key"]]
            what = f"{score['title']} of {row['target']} less {battery.compared_with}, within workers"
            found.append(inside(what, planted, row["difference"], row, row.get("undefined", ""), 2))
    return found


def _repeated(row: Mapping[str, Any], done: Sequence[Work]) -> Finding:
    """Counted one by one: nothing is lost of what came twice."""
    both = [
        (work.labels[key][row["key"]], again[row["key"]])
        for work in done
        for key, again in work.again.items()
    ]
    same = sum(first == second for first, second in both)
    reported = round(row.get("same", 0.0) * row["pairs"] / 100)
    return Finding(
        (row["pairs"], reported) == (len(both), same),
        f"“{row['question']}”: the report counts {row['pairs']} judged twice, {reported} of them alike; the "
        f"workers judged {len(both)} twice, {same} alike.",
    )


def _proposed(
    questions: QuestionSet, battery: Battery, done: Sequence[Work], proposed: Sequence[Any]
) -> Finding:
    """The rules applied to each worker by themselves; these workers tell no times."""
    broken = sum(_breaks(questions, battery, work) for work in done)
    return Finding(
        broken == len(proposed),
        f"The declared rules propose to exclude {len(proposed)} workers; of those who came, {broken} "
        "break one.",
    )


def _breaks(questions: QuestionSet, battery: Battery, work: Work) -> bool:
    keys = rated(questions)
    sums = [sum(given[key] for key in keys) for given in (*work.labels.values(), *work.again.values())]  # type: ignore[misc]  # ratings
    if battery.least_spread is not None and len(sums) >= FEWEST and stdev(sums) < battery.least_spread:
        return True
    if battery.repeat_points is None:
        return False
    gaps = [
        [abs(work.labels[thing][key] - again[key]) for key in keys]  # type: ignore[operator]  # ratings
        for thing, again in work.again.items()
    ]
    return any(sum(gap > battery.repeat_points for gap in each) >= battery.repeat_questions for each in gaps)
