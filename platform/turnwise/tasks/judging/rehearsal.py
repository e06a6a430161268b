"""How simulated workers judge the items of a queue, one after the other."""

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
    Crowd,
    Room,
    Seat,
    TooFewError,
    UnrehearsableError,
    latecomers,
    room,
    seats,
)
from turnwise.rehearsals.services import copied
from turnwise.rehearsals.simulated_worker import Conversation, MismatchError
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.studies.models import Ask, Study

# Every so many items an answer slips out and is taken back.
SLIP_EVERY = 7
# Refusals that a worker gets without having done wrong: others were faster while they were away.
PASSED_ON = ("given_away", "judged_elsewhere")


@dataclass
class Tab:
    """One page of a worker, with the items that it has still to show."""

    socket: Conversation
    waiting: list[str]


@dataclass
class Rater(SimulatedWorker):
    """Someone who judges items. With two tabs they take the next item from the one and the other in turns.

    So what one tab still shows is judged a second time there, and must count once.

    Attributes:
        plan: what they are dealt of the first ask.
        beside: the same of each other ask.
        asked: by the name of an item on the page, and by its key, the number of its ask.
    """

    may_come_in_vain = True

    plan: Plan = field(kw_only=True)
    beside: Sequence[Plan] = field(default=(), kw_only=True)
    asked: dict[str, int] = field(default_factory=dict)

    @override
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        done.given, done.beside = settings["batch"], [{} for _ in self.beside]
        states = [await socket.heard("state") for socket in tabs]
        opened = [Tab(socket, self.keys(state["items"])) for socket, state in zip(tabs, states, strict=True)]
        enough = max(1, states[0]["progress"]["size"] // 2) if self.kind is Kind.LEAVING else None
        while True:
            await self._judge_all(opened, done, enough)
            if self.kind is Kind.LEAVING:
                return ""
            if thanks := await self._finished(opened[0]):
                return thanks

    def keys(self, items: list[dict[str, Any]]) -> list[str]:
        """The keys of items that have come."""
        self.asked.update({item["key"]: item["ask"] for item in items})
        return [item["key"] for item in items]

    def dealt(self, item: str) -> Answers:
        """What this worker answers about the item."""
        return self._plan(item).deal(item, self.kind)

    def _plan(self, item: str) -> Plan:
        return (self.plan, *self.beside)[self.asked[item]]

    def _labels(self, item: str, done: Work) -> dict[str, Answers]:
        """All that they answered to the ask of this item."""
        return (done.labels, *done.beside)[self.asked[item]]

    def sent(self, item: str, answers: Answers) -> Answers:
        """These answers as they are given on the page."""
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
        """Judge what the page calls so; it is this item."""
        labels = self._labels(item, done)
        answers = labels.get(item) or self.dealt(item)
        if _judged(done) % SLIP_EVERY == SLIP_EVERY - 1 and not await self._saved(
            tab, shown, self._plan(item).slip(answers)
        ):
            return
        if await self._saved(tab, shown, answers):
            labels[item] = answers

    async def _saved(self, tab: Tab, item: str, answers: Answers) -> bool:
        """Judge an item; False if it went to somebody else meanwhile."""
        await tab.socket.send(type="judge", item=item, answers=self.sent(item, answers))
        heard = await tab.socket.heard("judged", "refused")
        if heard["type"] == "judged":
            tab.waiting += [key for key in self.keys(heard["leased"]) if key not in tab.waiting]
            return True
        if heard["reason"] not in PASSED_ON:
            raise MismatchError(f"The server answered with {heard}.")
        tab.waiting = self.keys((await tab.socket.heard("state"))["items"])
        return False

    async def _finished(self, tab: Tab) -> str:
        """The page to go to; empty if an item has become free for this worker meanwhile."""
        await tab.socket.send(type="finish")
        while (heard := await tab.socket.heard("state", "refused"))["type"] == "state":
            if heard["finished"]:  # else the state of somebody who has just come back
                thanks: str = heard["finished"]
                return thanks
        if heard["reason"] != "unjudged":
            raise MismatchError(f"The server answered with {heard}.")
        tab.waiting = self.keys((await tab.socket.heard("state"))["items"])
        return ""


def _judged(done: Work) -> int:
    return sum(len(labels) for labels in (done.labels, *done.beside))


# Who left holds their items for so long at most; a rehearsal would else last as long as real leases.
LEASE_SECONDS = 10


def with_queue(study: Study, workers: int) -> Study:
    """A copy that judges as many of the study's items as these workers can."""
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan()
    offered = _room(study, plan, workers)
    copy = copied(study, {})
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


def _room(study: Study, plan: JudgingPlan, workers: int) -> Room:
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
        return room(items, raters=plan.raters_per_item, batch_size=plan.batch_size, workers=workers)
    except TooFewError as error:
        raise UnrehearsableError(str(error)) from error


def raters(rehearsal: Study, server: str, workers: int) -> Crowd:
    """The items are there before anybody comes, and so is what each of them is like."""
    plans = [planned(ask) for ask in asks_of_readers(rehearsal)]
    rater = partial(Rater, plan=plans[0], beside=plans[1:], server=server)
    return come(rehearsal, workers, plans, rater)


def planned(ask: Ask, kind: type[Plan] = Plan) -> Plan:
    """What raters are dealt of an ask, who meet its items."""
    systems = systems_of(ask)
    plan = kind(question_set(ask.question_set), sorted(set(systems.values())), alone=False)
    for key, system in systems.items():
        plan.meet(key, system)
    return plan


_SYSTEMS = f"""
SELECT i.key, i.system FROM ({items_of(ask="%s")}) AS i ORDER BY i.id
"""


def systems_of(ask: Ask) -> dict[str, str]:
    """By the key of each item of the ask, what the report calls its system, in the order of the items."""
    with connection.cursor() as cursor:
        cursor.execute(_SYSTEMS, [ask.study_id, ask.pk])
        return {str(key): str(system) for key, system in cursor.fetchall()}


def come(
    rehearsal: Study, workers: int, plans: Sequence[Plan], rater: Callable[..., SimulatedWorker]
) -> Crowd:
    """The crowd of these raters, who are dealt this of each ask."""
    languages = list(rehearsal.items.values_list("language", flat=True).distinct().order_by("language"))
    wanted = rehearsal.judging.raters_per_item
    placed, link = seats(workers, languages), rehearsal.get_entry_url()

    def worker(number: int, seat: Seat) -> SimulatedWorker:
        return rater(number, seat.kind, link=link, language=seat.language)

    return Crowd(plans[0], placed, latecomers(placed, wanted), worker, wanted, beside=plans[1:])
