"""Asking both bots of a battle for their due replies, once for all tabs and web processes.

The process that asks holds a lease on the battle (`Battle.asked_by`) and renews it while a bot is thinking.
So a tab on another process does not ask a second time for a reply that is due and paid for. If the process
dies, its lease expires after `LEASE`, and the next tab that reads the state asks for the missing replies.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID, uuid4

from django.db import DatabaseError
from django.db.models import F, Q
from django.db.models.functions import Now

from chatbots.errors import ChatbotError
from turnwise.dialogues import growing_replies, queries, services
from turnwise.dialogues.models import Battle
from turnwise.dialogues.seat_context import SeatContext
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, Tell
from turnwise.live.sockets import draining
from turnwise.tasks.arena.battles import OpenBattle

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=15)
"""Time without a renewal after which a lease expires. Bots may take longer: the lease is then renewed."""
_RENEW_SECONDS = LEASE.total_seconds() / 4

Notify = Callable[[], Awaitable[None]]
"""Makes every tab of the worker read its state."""


def take_lease(battle: int, holder: UUID) -> bool:
    """Take or renew the lease on a battle. Idempotent.

    Returns:
        False if another holder has a lease that has not expired.
    """
    free = Q(asked_by=holder) | Q(asked_until=None) | Q(asked_until__lte=Now())
    return bool(Battle.objects.filter(free, pk=battle).update(asked_by=holder, asked_until=Now() + LEASE))


def release_lease(battle: int, holder: UUID) -> None:
    """Give the lease back, if this holder still has it."""
    Battle.objects.filter(pk=battle, asked_by=holder).update(asked_by=None, asked_until=None)


def seconds_left(battle: int) -> float:
    """Seconds until the lease on a battle expires; 0 if nobody holds it."""
    held = Battle.objects.filter(pk=battle, asked_until__gt=Now())
    left: timedelta | None = held.values_list(F("asked_until") - Now(), flat=True).first()
    return left.total_seconds() if left else 0.0


async def ask_both(battle: OpenBattle, notify: Notify, tell: Tell, *, again: bool = False) -> None:
    """Begin to ask the bots that have not answered yet, unless somebody does so already.

    Args:
        battle: the battle.
        notify: called once both bots have answered or failed, and if replies grow, once one has.
        tell: sends a frame to every tab of the worker; used if replies grow.
        again: whether to ask a bot again that has failed.
    """
    holder = uuid4()
    if not await in_database(take_lease, battle.battle.pk, holder):
        return
    task = asyncio.create_task(_ask_under_lease(battle, holder, notify, tell, again=again))
    draining.hold(task)


async def _ask_under_lease(
    battle: OpenBattle, holder: UUID, notify: Notify, tell: Tell, *, again: bool
) -> None:
    key = battle.battle.pk
    asking = asyncio.gather(
        *(_ask_side(battle, side, notify, tell, again=again) for side in range(len(battle.seats)))
    )
    try:
        while not (await asyncio.wait([asking], timeout=_RENEW_SECONDS))[0]:
            if not await _renew_lease(key, holder):
                log.warning(
                    "The lease on battle %s expired before it was renewed; another process asks.", key
                )
                return
    finally:
        asking.cancel()
        await in_database(release_lease, key, holder)
    await notify()


async def _renew_lease(battle: int, holder: UUID) -> bool:
    """Renew the lease; False if another process has it. Without the database, go on: the reply is awaited."""
    try:
        return await in_database(take_lease, battle, holder)
    except DatabaseError:
        log.exception("The lease on battle %s could not be renewed.", battle)
        return True


async def _ask_side(battle: OpenBattle, side: int, notify: Notify, tell: Tell, *, again: bool) -> None:
    """Ask the bot of one side; if replies grow, tabs see it write, and read the state once it is complete."""
    seat, number = battle.seats[side], battle.battle.number

    async def grown(frame: Frame) -> None:
        await tell({**frame, "battle": number, "side": side})

    if await _ask_one(seat, grown, again=again) and seat.replies_grow:
        await notify()


async def _ask_one(seat: SeatContext, grown: Tell, *, again: bool) -> bool:
    """Ask one bot for its due reply, and save the reply or the failure.

    Returns:
        True if a reply was saved.
    """
    position = 0
    try:
        turns, progress, faults = await in_database(queries.snapshot, seat)
        if not progress.reply_due or seat.bot_id is None or (faults and not again):
            return False
        position = progress.turns
        context = queries.context_of(seat, [turn.text for turn in turns])
        growing = growing_replies.begin(seat, position, grown)
        try:
            reply = await growing_replies.ask_bot(seat, context, None, growing)
            await services.close_exchange(seat, position=position, reply=reply)
        finally:
            growing_replies.end(seat, position)
            if growing:
                await growing.close()
        return True
    except ChatbotError as error:
        kind = type(error).__name__.removesuffix("Error")
        await in_database(services.record_fault, seat, position=position, kind=kind, detail=str(error))
    except RefusedError:
        log.info("Dialogue %s ended while its bot was thinking.", seat.public_id)
    except Exception as error:
        log.exception("The reply at %s of dialogue %s was lost.", position, seat.public_id)
        await in_database(services.record_fault, seat, position=position, kind="Lost", detail=str(error))
    return False
