"""How many conversations go on at once. Pure.

Bots that talk with each other, a slice of time at once. Whatever is cut off is asked for again.
"""

import asyncio
import math
import time
from dataclasses import dataclass, field
from functools import partial

from celery import shared_task
from channels.db import database_sync_to_async
from django.utils import timezone

from turnwise.live.jobs import SELF_PLAY, Slices, only_here
from turnwise.responses.bulk_replies import (
    PAUSE_SECONDS,
    SLICE_SECONDS,
    Failures,
    Trouble,
    asked,
    divided,
    run_slice,
)
from turnwise.studies.models import Study
from turnwise.tasks.self_play import services
from turnwise.tasks.self_play.models import SelfPlayPlan
from turnwise.tasks.self_play.services import Due, Failed, Said

MOST_AT_ONCE = 32
# Quicker turns need no thought: a slice ends in time with any number of them under way.
QUICK_SECONDS = 6.0
# Of what a turn cost before: below the first it pays to ask for more at once, above the second for fewer.
CHEAPER, DEARER = 0.8, 1.2


@dataclass(slots=True)
class Pace:
    """Asks for twice as many at once while turns come quickly, or as long as that makes each of them cheaper.

    So a bot that batches is asked for whole batches however slow it is, and one that does not for few.

    Attributes:
        at_once: how many turns to ask for at once.
        cost: seconds for each turn, the least so far.
    """

    at_once: int = 1
    cost: float = math.inf

    def adapt(self, at_once: int, seconds: float, *, overloaded: bool) -> None:
        """Take in how long a turn took.

        Args:
            at_once: how many were asked for at once when it was.
            seconds: until it came.
            overloaded: whether the bot turned some away, or was late.
        """
        cost = seconds / at_once
        if overloaded:
            self.at_once, self.cost = 1, math.inf
        elif at_once != self.at_once:  # asked for at another pace: tells nothing of this one
            return
        elif seconds < QUICK_SECONDS or cost < CHEAPER * self.cost:
            self.at_once, self.cost = min(2 * at_once, MOST_AT_ONCE), min(cost, self.cost)
        elif cost > DEARER * self.cost:
            self.at_once = max(1, at_once // 2)


REST_OF_BATCH_SECONDS = 0.01

Asked = asyncio.Task[Said | Failed]
# By plan, as this process has found it: a slice of a slow bot is too short to find it once more.
_PACES: dict[int, Pace] = {}


def play_slice(plan_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on a study for a while. Does nothing if another process does. Safe to repeat.

    Returns:
        Whether there is more to do.
    """
    with only_here(SELF_PLAY, plan_id) as ours:
        plan = services.plan_at_work(plan_id) if ours else None
        if plan is None:
            return False
        pace = _PACES.setdefault(plan_id, Pace())
        work = _Slice(plan, time.monotonic() + seconds, pace).work()
        return run_slice(f"Self-play of study {plan.study_id}", work, partial(services.stop, plan))


@dataclass(slots=True)
class _Slice:
    plan: SelfPlayPlan
    until: float
    pace: Pace
    failures: Failures = field(
        default_factory=lambda: Failures("{times} turns in a row failed. The last error: {last}")
    )
    is_waiting: bool = False
    under_way: dict[Asked, tuple[Due, float, int]] = field(default_factory=dict)

    async def work(self) -> bool:
        while await self._ask_more() or self.under_way:
            await asyncio.wait(self.under_way, return_when=asyncio.FIRST_COMPLETED)
            # A bot delivers a batch one by one. Taken together, the next batch is as large as this one.
            answered, _ = await asyncio.wait(self.under_way, timeout=REST_OF_BATCH_SECONDS)
            await self._take(answered)
        if self.failures.broken:
            await _stop(self.plan, self.failures.broken)
            return False
        if self.is_waiting or time.monotonic() >= self.until:
            return True
        await _conclude(self.plan)
        return False

    async def _ask_more(self) -> bool:
        """Ask for turns until as many are under way as may be; whether there were any to ask for."""
        room = self.pace.at_once - len(self.under_way)
        if room < 1 or self.failures.broken or self.is_waiting or time.monotonic() >= self.until:
            return False
        busy = [due.played_id for due, *_ in self.under_way.values()]
        for due in (found := await _due(self.plan, room, busy)):
            asked_now = asyncio.create_task(_ask(self.plan, due))
            self.under_way[asked_now] = due, time.monotonic(), self.pace.at_once
        return bool(found)

    async def _take(self, answered: set[Asked]) -> None:
        asks = [self.under_way.pop(each) for each in answered]
        outcomes = [each.result() for each in answered]
        said = [each for each in outcomes if isinstance(each, Said)]
        troubles = [(each.due, each.trouble) for each in outcomes if isinstance(each, Failed)]
        is_alone = len(outcomes) == 1 and not self.under_way and self.pace.at_once == 1
        waiting, counted = divided(troubles, is_alone=is_alone)
        await _record(self.plan, said, [Failed(*each) for each in counted])
        # Silence ends a conversation, and is counted there.
        failing = [trouble for _, trouble in counted if trouble.kind != "silent"]
        self.failures.note(len(failing), [trouble for _, trouble in troubles], has_answered=bool(said))
        _, began, at_once = asks[0]
        self.pace.adapt(at_once, time.monotonic() - began, overloaded=bool(waiting))
        if is_alone and waiting and not self.failures.broken:
            self.is_waiting = True
            await _note_waiting(self.plan, waiting[0][1].detail)
            await asyncio.sleep(PAUSE_SECONDS)


async def _ask(plan: SelfPlayPlan, due: Due) -> Said | Failed:
    found = await asked(due.bot_id, services.context_of(plan, due))
    return Failed(due, found) if isinstance(found, Trouble) else Said(due, found)


@database_sync_to_async
def _due(plan: SelfPlayPlan, most: int, but: list[int]) -> list[Due]:
    """Nothing once the study was closed."""
    return services.due(plan, most=most, but=but) if services.plan_at_work(plan.pk) else []


@database_sync_to_async
def _record(plan: SelfPlayPlan, said: list[Said], failed: list[Failed]) -> None:
    services.record(plan, said, failed, now=timezone.now())


@database_sync_to_async
def _conclude(plan: SelfPlayPlan) -> None:
    if services.plan_at_work(plan.pk):
        services.conclude(plan)


@database_sync_to_async
def _stop(plan: SelfPlayPlan, why: str) -> None:
    services.stop(plan, why)


@database_sync_to_async
def _note_waiting(plan: SelfPlayPlan, why: str) -> None:
    services.note_waiting(plan, why, now=timezone.now())


_SLICES = Slices("self_play", SELF_PLAY)


@shared_task
def play(plan_id: int) -> None:
    """A slice of a study; others get their turn before the next one."""
    _SLICES.arrived(plan_id)
    if play_slice(plan_id):
        send(plan_id)


def send(plan_id: int) -> bool:
    """Have a worker go on with the study; False if one was told so already."""
    return _SLICES.send(plan_id, play)


def take_up() -> None:
    """Send the studies whose process has died."""
    at_work = SelfPlayPlan.objects.filter(study__state=Study.State.OPEN)
    for plan_id in at_work.values_list("pk", flat=True):
        if _SLICES.send_if_left(plan_id, play):
            services.taken_up(plan_id, now=timezone.now())
