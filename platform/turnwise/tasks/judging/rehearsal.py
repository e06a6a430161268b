"""Simulated raters who judge the items of a queue, one after the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import connection
from django.db.models import Count
from typing_extensions import override

from turnwise.judging.asks import asks_of_readers
from turnwise.judging.items import subjects
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queries import items_of
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.injected_effects import Answers, Kind, Plan
from turnwise.rehearsals.rehearsed_task import (
    Capacity,
    Crowd,
    TooFewWorkersError,
    UnrehearsableError,
    WorkerProfile,
    capacity_for,
    latecomers,
    worker_profiles,
)
from turnwise.rehearsals.services import copy_study
from turnwise.rehearsals.simulated_worker import Conversation, MismatchError
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.studies.models import Ask, Study

# Once in this many items, a simulated rater first saves a wrong answer and then corrects it.
SLIP_EVERY = 7
# Refusals without a fault of the worker: another worker got the item first.
PASSED_ON = ("given_away", "judged_elsewhere")


@dataclass
class Tab:
    """One open page of a worker, with the items that it still has to show."""

    socket: Conversation
    waiting: list[str]


@dataclass
class Rater(SimulatedWorker):
    """A simulated worker who judges items. With two tabs, they take items from both in turn.

    An item that both tabs show is judged twice and must count once.

    Attributes:
        plan: planned answers to the first ask.
        beside: planned answers to each other ask.
        asked: number of the item's ask, by its key and by its name on the page.
    """

    may_come_in_vain = True

    plan: Plan = field(kw_only=True)
    beside: Sequence[Plan] = field(default=(), kw_only=True)
    asked: dict[str, int] = field(default_factory=dict)

    @override
    async def do_work(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        done.work_id, done.further_labels = settings["batch"], [{} for _ in self.beside]
        states = [await socket.receive("state") for socket in tabs]
        opened = [Tab(socket, self.keys(state["items"])) for socket, state in zip(tabs, states, strict=True)]
        enough = max(1, states[0]["progress"]["size"] // 2) if self.kind is Kind.LEAVING else None
        while True:
            await self._judge_all(opened, done, enough)
            if self.kind is Kind.LEAVING:
                return ""
            if thanks := await self._finished(opened[0]):
                return thanks

    def keys(self, items: list[dict[str, Any]]) -> list[str]:
        """Keys of received items."""
        self.asked.update({item["key"]: item["ask"] for item in items})
        return [item["key"] for item in items]

    def dealt(self, item: str) -> Answers:
        """The planned answers about the item."""
        return self._plan(item).deal(item, self.kind)

    def _plan(self, item: str) -> Plan:
        return (self.plan, *self.beside)[self.asked[item]]

    def _labels(self, item: str, done: Work) -> dict[str, Answers]:
        """The worker's answers so far to the ask of this item."""
        return (done.labels, *done.further_labels)[self.asked[item]]

    def sent(self, item: str, answers: Answers) -> Answers:
        """The answers in the format of the page."""
        return answers

    async def _judge_all(self, tabs: list[Tab], done: Work, enough: int | None) -> None:
        turn = 0
        while any(tab.waiting for tab in tabs) and (enough is None or _judged(done) < enough):
            tab, turn = tabs[turn % len(tabs)], turn + 1
            if tab.waiting:
                await self._judge(tab, tab.waiting.pop(0), done)

    async def _judge(self, tab: Tab, item: str, done: Work) -> None:
        await self._judge_as(tab, item, item, done)

    async def _judge_as(self, tab: Tab, shown: str, item: str, done: Work) -> None:
        """Judge this item, which the page calls `shown`."""
        labels = self._labels(item, done)
        answers = labels.get(item) or self.dealt(item)
        if _judged(done) % SLIP_EVERY == SLIP_EVERY - 1 and not await self._saved(
            tab, shown, self._plan(item).slip(answers)
        ):
            return
        if await self._saved(tab, shown, answers):
            labels[item] = answers

    async def _saved(self, tab: Tab, item: str, answers: Answers) -> bool:
        """Judge an item; False if another worker got it meanwhile."""
        await tab.socket.send(type="judge", item=item, answers=self.sent(item, answers))
        frame = await tab.socket.receive("judged", "refused")
        if frame["type"] == "judged":
            tab.waiting += [key for key in self.keys(frame["leased"]) if key not in tab.waiting]
            return True
        if frame["reason"] not in PASSED_ON:
            raise MismatchError(f"The server answered with {frame}.")
        tab.waiting = self.keys((await tab.socket.receive("state"))["items"])
        return False

    async def _finished(self, tab: Tab) -> str:
        """Finish; returns the address of the next page, or "" if an item has become free meanwhile."""
        await tab.socket.send(type="finish")
        while (frame := await tab.socket.receive("state", "refused"))["type"] == "state":
            if frame["finished"]:  # otherwise the state after a reconnection
                thanks: str = frame["finished"]
                return thanks
        if frame["reason"] != "unjudged":
            raise MismatchError(f"The server answered with {frame}.")
        tab.waiting = self.keys((await tab.socket.receive("state"))["items"])
        return ""


def _judged(done: Work) -> int:
    return sum(len(labels) for labels in (done.labels, *done.further_labels))


# Longest lease in a rehearsal, so that items of workers who left become free soon.
LEASE_SECONDS = 10


def copy_with_queue(study: Study, workers: int) -> Study:
    """A copy of the study with as many items as these workers can judge."""
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    offered = _room(study, plan, workers)
    copy = copy_study(study, {})
    JudgingPlan.objects.create(
        study=copy,
        raters_per_item=plan.raters_per_item,
        batch_size=offered.batch_size,
        lease_seconds=min(plan.lease_seconds, LEASE_SECONDS),
        shows_reading=plan.shows_reading,
    )
    for language, items in offered.items.items():
        subjects.add_items_of(copy, study, language=language, items=items)
    if any(not ask.items.exists() for ask in asks_of_readers(copy)):
        raise UnrehearsableError(
            f"{workers} simulated workers can judge so few items that some questions would be asked about "
            "none. Use more workers."
        )
    return copy


def _room(study: Study, plan: JudgingPlan, workers: int) -> Capacity:
    counted = (
        study.items.filter(removed_at=None)
        .values_list("language")
        .annotate(n=Count("pk"))
        .order_by("language")
    )
    items = {language: n for language, n in counted if language in study.languages}
    if not items:
        raise UnrehearsableError(
            f"“{study.title}” has nothing to judge yet. Add responses or conversations to its queue first."
        )
    try:
        return capacity_for(items, raters=plan.raters_per_item, batch_size=plan.batch_size, workers=workers)
    except TooFewWorkersError as error:
        raise UnrehearsableError(str(error)) from error


def raters(rehearsal: Study, server: str, workers: int) -> Crowd:
    """Simulated raters of the items, which have their planned answers before any worker comes."""
    plans = [answer_plan(ask) for ask in asks_of_readers(rehearsal)]
    rater = partial(Rater, plan=plans[0], beside=plans[1:], server=server)
    return rater_crowd(rehearsal, workers, plans, rater)


def answer_plan(ask: Ask, kind: type[Plan] = Plan) -> Plan:
    """Planned answers to an ask, for all its items."""
    systems = systems_of(ask)
    plan = kind(question_set(ask.question_set), sorted(set(systems.values())), alone=False)
    for key, system in systems.items():
        plan.meet(key, system)
    return plan


_SYSTEMS = f"""
SELECT i.key, i.system FROM ({items_of(ask="%s")}) AS i ORDER BY i.id
"""


def systems_of(ask: Ask) -> dict[str, str]:
    """System of each item of the ask by the item's key, in the order of the items."""
    with connection.cursor() as cursor:
        cursor.execute(_SYSTEMS, [ask.study_id, ask.pk])
        return {str(key): str(system) for key, system in cursor.fetchall()}


def rater_crowd(
    rehearsal: Study, workers: int, plans: Sequence[Plan], rater: Callable[..., SimulatedWorker]
) -> Crowd:
    """A crowd of raters with these planned answers to each ask."""
    languages = list(rehearsal.items.values_list("language", flat=True).distinct().order_by("language"))
    wanted = rehearsal.judging.raters_per_item
    placed, link = worker_profiles(workers, languages), rehearsal.get_entry_url()

    def worker(number: int, seat: WorkerProfile) -> SimulatedWorker:
        return rater(number, seat.kind, link=link, language=seat.language)

    return Crowd(plans[0], placed, latecomers(placed, wanted), worker, wanted, further_plans=plans[1:])
