"""Background jobs of self-play: each works on a study for a slice of time; interrupted turns are repeated."""

import asyncio
import math
import time
from dataclasses import dataclass, field
from functools import partial

from celery import shared_task
from channels.db import database_sync_to_async
from django.utils import timezone

from turnwise.live.jobs import SELF_PLAY, ChunkedJob, exclusive_lock
from turnwise.responses.bulk_replies import (
    PAUSE_SECONDS,
    SLICE_SECONDS,
    Failures,
    Trouble,
    ask_bot,
    run_slice,
    split_troubles,
)
from turnwise.studies.models import Study
from turnwise.tasks.self_play import services
from turnwise.tasks.self_play.models import SelfPlayPlan
from turnwise.tasks.self_play.services import AnsweredTurn, DueTurn, FailedTurn

MOST_AT_ONCE = 32
# Turns quicker than this are never a problem: a slice ends in time with any number of them in progress.
QUICK_SECONDS = 6.0
# Factors of the earlier cost of a turn: below the first, ask for more at once; above the second, for fewer.
CHEAPER, DEARER = 0.8, 1.2


@dataclass(slots=True)
class Pace:
    """Number of turns to ask for at once; it doubles while turns are quick or become cheaper by it.

    So a bot that batches is asked for whole batches, however slow it is, and other bots for few turns.

    Attributes:
        at_once: number of turns to ask for at once.
        cost: least seconds per turn so far.
    """

    at_once: int = 1
    cost: float = math.inf

    def adapt(self, at_once: int, seconds: float, *, overloaded: bool) -> None:
        """Adapt to the duration of a turn.

        Args:
            at_once: number of turns asked for at once when this one was.
            seconds: duration of the turn.
            overloaded: the bot refused some turns, or was late.
        """
        cost = seconds / at_once
        if overloaded:
            self.at_once, self.cost = 1, math.inf
        elif at_once != self.at_once:  # measured at another pace, so it says nothing about this one
            return
        elif seconds < QUICK_SECONDS or cost < CHEAPER * self.cost:
            self.at_once, self.cost = min(2 * at_once, MOST_AT_ONCE), min(cost, self.cost)
        elif cost > DEARER * self.cost:
            self.at_once = max(1, at_once // 2)


REST_OF_BATCH_SECONDS = 0.01

_ReplyTask = asyncio.Task[AnsweredTurn | FailedTurn]
# Pace of each plan in this process: a slice with a slow bot is too short to measure it again.
_PACES: dict[int, Pace] = {}


def play_slice(plan_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on a study for a slice of time, unless another process does. Idempotent.

    Returns:
        True if there is more to do.
    """
    with exclusive_lock(SELF_PLAY, plan_id) as ours:
        plan = services.open_plan(plan_id) if ours else None
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
    in_progress: dict[_ReplyTask, tuple[DueTurn, float, int]] = field(default_factory=dict)

    async def work(self) -> bool:
        while await self._ask_more() or self.in_progress:
            await asyncio.wait(self.in_progress, return_when=asyncio.FIRST_COMPLETED)
            # A bot delivers a batch one by one. Collect all of it, so that the next batch is as large.
            answered, _ = await asyncio.wait(self.in_progress, timeout=REST_OF_BATCH_SECONDS)
            await self._take(answered)
        if self.failures.broken:
            await _stop(self.plan, self.failures.broken)
            return False
        if self.is_waiting or time.monotonic() >= self.until:
            return True
        await _conclude(self.plan)
        return False

    async def _ask_more(self) -> bool:
        """Ask for turns up to the pace; returns True if there were any to ask for."""
        capacity = self.pace.at_once - len(self.in_progress)
        if capacity < 1 or self.failures.broken or self.is_waiting or time.monotonic() >= self.until:
            return False
        busy = [due.played_id for due, *_ in self.in_progress.values()]
        for due in (found := await _due(self.plan, capacity, busy)):
            asked_now = asyncio.create_task(_ask(self.plan, due))
            self.in_progress[asked_now] = due, time.monotonic(), self.pace.at_once
        return bool(found)

    async def _take(self, finished: set[_ReplyTask]) -> None:
        asks = [self.in_progress.pop(each) for each in finished]
        outcomes = [each.result() for each in finished]
        answered_turns = [each for each in outcomes if isinstance(each, AnsweredTurn)]
        troubles = [(each.due, each.trouble) for each in outcomes if isinstance(each, FailedTurn)]
        is_alone = len(outcomes) == 1 and not self.in_progress and self.pace.at_once == 1
        waiting, counted = split_troubles(troubles, is_alone=is_alone)
        await _record(self.plan, answered_turns, [FailedTurn(*each) for each in counted])
        # A silent bot ends the conversation, where it is counted.
        failing = [trouble for _, trouble in counted if trouble.kind != "silent"]
        self.failures.note(
            len(failing), [trouble for _, trouble in troubles], has_answered=bool(answered_turns)
        )
        _, began, at_once = asks[0]
        self.pace.adapt(at_once, time.monotonic() - began, overloaded=bool(waiting))
        if is_alone and waiting and not self.failures.broken:
            self.is_waiting = True
            await _note_waiting(self.plan, waiting[0][1].detail)
            await asyncio.sleep(PAUSE_SECONDS)


async def _ask(plan: SelfPlayPlan, due: DueTurn) -> AnsweredTurn | FailedTurn:
    found = await ask_bot(due.bot_id, services.context_of(plan, due))
    return FailedTurn(due, found) if isinstance(found, Trouble) else AnsweredTurn(due, found)


@database_sync_to_async
def _due(plan: SelfPlayPlan, limit: int, excluded: list[int]) -> list[DueTurn]:
    """Due turns of the plan; empty once the study is closed."""
    return services.due(plan, limit=limit, excluded=excluded) if services.open_plan(plan.pk) else []


@database_sync_to_async
def _record(plan: SelfPlayPlan, answered_turns: list[AnsweredTurn], failed: list[FailedTurn]) -> None:
    services.record(plan, answered_turns, failed, now=timezone.now())


@database_sync_to_async
def _conclude(plan: SelfPlayPlan) -> None:
    if services.open_plan(plan.pk):
        services.conclude(plan)


@database_sync_to_async
def _stop(plan: SelfPlayPlan, why: str) -> None:
    services.stop(plan, why)


@database_sync_to_async
def _note_waiting(plan: SelfPlayPlan, why: str) -> None:
    services.note_waiting(plan, why, now=timezone.now())


_SLICES = ChunkedJob("self_play", SELF_PLAY)


@shared_task
def play(plan_id: int) -> None:
    """Work on a study for one slice; other jobs run before the next slice."""
    _SLICES.mark_received(plan_id)
    if play_slice(plan_id):
        send(plan_id)


def send(plan_id: int) -> bool:
    """Queue the next slice of the study; False if it is queued already."""
    return _SLICES.send(plan_id, play)


def take_up() -> None:
    """Queue the studies whose process has died."""
    at_work = SelfPlayPlan.objects.filter(study__state=Study.State.OPEN)
    for plan_id in at_work.values_list("pk", flat=True):
        if _SLICES.send_if_abandoned(plan_id, play):
            services.note_recovery(plan_id, now=timezone.now())
