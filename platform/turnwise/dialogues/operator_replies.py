"""Replies that a team member writes in a bot's place (Wizard of Oz): stored replies, and waiting for one.

An operator's text is stored at once. It becomes the bot's turn when it may be shown (`wait_for_reply`), by
the same database step as the reply of any other bot.
"""

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import datetime, timedelta

from channels.layers import get_channel_layer
from django.db.models import QuerySet
from django.utils import timezone

from chatbots.errors import OperatorAwayError, OperatorLateError
from chatbots.replies import Response
from turnwise.accounts.models import User
from turnwise.bots import operators
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue, Fault, OperatorReply, Seat, Turn
from turnwise.dialogues.seat_context import SeatContext
from turnwise.live.database import in_database
from turnwise.live.frames import RefusedError


def live_seats(bot: Bot) -> QuerySet[Seat]:
    """The bot's seats in open live conversations whose worker is still taking part."""
    return Seat.objects.filter(
        bot=bot,
        dialogue__ended_at=None,
        dialogue__origin=Dialogue.Origin.LIVE,
        dialogue__seats__assignment__outcome="",
    )


def least_busy(bot: Bot, *, now: datetime) -> User | None:
    """The present operator who accepts new conversations and has the fewest; None if there is none."""
    there = list(
        operators.present_operators(now=now).filter(bot=bot, takes_new=True).select_related("operator")
    )
    busy = Counter(live_seats(bot).values_list("operator", flat=True))
    presence = min(there, key=lambda each: (busy[each.operator_id], each.pk), default=None)
    return presence.operator if presence else None


def find_reply(
    seat: SeatContext, bot_id: int, position: int, *, since: datetime, now: datetime
) -> OperatorReply | None:
    """Return the operator's reply at this position; None if it has not come yet and may still come.

    Args:
        seat: seat of the waiting worker.
        bot_id: the bot in the other seat.
        position: position at which the reply is due.
        since: when this wait began.
        now: the current time.

    Raises:
        RefusedError: no reply is due any more.
        OperatorAwayError: no operator has been present for some time.
        OperatorLateError: the operator's time limit has passed.
    """
    worker = Seat.objects.filter(dialogue=seat.dialogue_id, number=seat.number, assignment__outcome="")
    if not worker.filter(dialogue__ended_at=None, dialogue__turns=position).exists():
        raise RefusedError("ended")
    written = OperatorReply.objects.filter(dialogue=seat.dialogue_id, position=position).first()
    if written:
        return written
    bot, began = Bot.objects.get(pk=bot_id), _began(seat, position, since)
    if max(began, operators.last_seen(bot_id) or began) <= now - operators.GONE:
        raise OperatorAwayError(f"No operator of {bot} is there.")
    timeout = timedelta(seconds=operators.settings_of(bot).patience)
    if began <= now - timeout:
        raise OperatorLateError(f"No operator of {bot} answered within {timeout.total_seconds():g} seconds.")
    return None


def _began(seat: SeatContext, position: int, since: datetime) -> datetime:
    """Start of the worker's wait: the time of their message, or of their retry after a failure."""
    failed = Fault.objects.filter(dialogue=seat.dialogue_id, position=position).exists()
    return since if failed else turn_time(seat.dialogue_id, position - 1) or since


def turn_time(dialogue_id: int, position: int) -> datetime | None:
    """Time at which the turn at this position was saved; None if there is none."""
    matching = Turn.objects.filter(dialogue=dialogue_id, position=position)
    return matching.values_list("created_at", flat=True).first()


# The operator's process wakes the worker's process when a reply is stored. Polling covers lost messages.
LOOK_SECONDS = 2.0

_woken: defaultdict[int, set[asyncio.Event]] = defaultdict(set)


async def wait_for_reply(seat: SeatContext, bot_id: int, position: int) -> Reply:
    """Wait for the operator's reply at this position until it may be shown.

    Raises:
        OperatorAwayError: no operator has been present for some time.
        OperatorLateError: the operator's time limit has passed.
        RefusedError: the conversation ended in the meantime.
    """
    since, woken = timezone.now(), asyncio.Event()
    _woken[seat.dialogue_id].add(woken)
    try:
        await notify_operators(bot_id)
        while True:
            woken.clear()
            now = timezone.now()
            written = await in_database(find_reply, seat, bot_id, position, since=since, now=now)
            if written is None:
                pause = LOOK_SECONDS
            elif (pause := (written.due_at - timezone.now()).total_seconds()) <= 0:
                return await in_database(_as_reply, written)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await woken.wait()
    finally:
        _woken[seat.dialogue_id].discard(woken)
        if not _woken[seat.dialogue_id]:
            del _woken[seat.dialogue_id]


def wake(dialogue_id: int) -> None:
    """Wake every waiter of this process after an operator wrote in this conversation."""
    for woken in _woken.get(dialogue_id, ()):
        woken.set()


async def notify_operators(bot_id: int) -> None:
    """Make the pages of the bot's operators reload their lists."""
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(operators_group(bot_id), {"type": "conversations.changed"})


def operators_group(bot_id: int) -> str:
    return f"operators.{bot_id}"


def _as_reply(written: OperatorReply) -> Reply:
    asked_at = turn_time(written.dialogue_id, written.position - 1) or written.written_at
    waited = max(0.0, (timezone.now() - asked_at).total_seconds())
    return Reply(Response(written.text), written.bot_version_id, round(1000 * waited), None)
