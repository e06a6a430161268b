"""Conversations with a bot in whose place somebody of the team answers (Wizard of Oz), as they are stored.

What an operator writes is stored at once and becomes the bot's turn once it may be shown (`awaited`), by the
same step as the reply of any other bot.

Waiting for the reply of an operator, as `turnwise.bots.hosting.client` waits for that of a bot.
"""

import asyncio
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import datetime, timedelta

from channels.layers import get_channel_layer
from django.db.models import QuerySet
from django.utils import timezone

from chatbots.base import Response
from chatbots.errors import OperatorAwayError, OperatorLateError
from turnwise.accounts.models import User
from turnwise.bots import operators
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue, Fault, OperatorReply, Seat, Turn
from turnwise.dialogues.seat_context import Seated
from turnwise.live.database import in_database
from turnwise.live.frames import RefusedError


def live_seats(bot: Bot) -> QuerySet[Seat]:
    """The bot's seats in conversations that are held here and have not ended, whose worker is still at it."""
    return Seat.objects.filter(
        bot=bot,
        dialogue__ended_at=None,
        dialogue__origin=Dialogue.Origin.LIVE,
        dialogue__seats__assignment__outcome="",
    )


def least_busy(bot: Bot, *, now: datetime) -> User | None:
    """The operator who is there, takes somebody new, and has the fewest conversations; None if nobody is."""
    there = list(operators.present(now=now).filter(bot=bot, takes_new=True).select_related("operator"))
    busy = Counter(live_seats(bot).values_list("operator", flat=True))
    chosen = min(there, key=lambda each: (busy[each.operator_id], each.pk), default=None)
    return chosen.operator if chosen else None


def look(seat: Seated, bot_id: int, position: int, *, since: datetime, now: datetime) -> OperatorReply | None:
    """What an operator wrote at this position; None: not yet, and it is worth waiting.

    Args:
        seat: of the worker who waits.
        bot_id: of the bot opposite.
        position: where the reply is due.
        since: when this wait began.
        now: when this is asked.

    Raises:
        RefusedError: no reply is due any more.
        OperatorAwayError: no operator is there, nor has been for some time.
        OperatorLateError: this has taken too long.
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
    patience = timedelta(seconds=operators.settings_of(bot).patience)
    if began <= now - patience:
        raise OperatorLateError(f"No operator of {bot} answered within {patience.total_seconds():g} seconds.")
    return None


def _began(seat: Seated, position: int, since: datetime) -> datetime:
    """When the worker began to wait: with their message, or when they asked once more after a failure."""
    failed = Fault.objects.filter(dialogue=seat.dialogue_id, position=position).exists()
    return since if failed else said_at(seat.dialogue_id, position - 1) or since


def said_at(dialogue_id: int, position: int) -> datetime | None:
    found = Turn.objects.filter(dialogue=dialogue_id, position=position)
    return found.values_list("created_at", flat=True).first()


# An operator's process tells that of the worker that there is a reply. This is for what it could not tell.
LOOK_SECONDS = 2.0

_woken: defaultdict[int, set[asyncio.Event]] = defaultdict(set)


async def reply(seat: Seated, bot_id: int, position: int) -> Reply:
    """What an operator wrote at this position, once it may be shown.

    Raises:
        OperatorAwayError: no operator is there, nor has been for some time.
        OperatorLateError: this has taken too long.
        RefusedError: the conversation has ended meanwhile.
    """
    since, woken = timezone.now(), asyncio.Event()
    _woken[seat.dialogue_id].add(woken)
    try:
        await tell_operators(bot_id)
        while True:
            woken.clear()
            now = timezone.now()
            written = await in_database(look, seat, bot_id, position, since=since, now=now)
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
    """An operator has written in this conversation: whoever waits for that here looks at once."""
    for woken in _woken.get(dialogue_id, ()):
        woken.set()


async def tell_operators(bot_id: int) -> None:
    """Have the pages of the bot's operators look anew."""
    layer = get_channel_layer()
    assert layer is not None
    await layer.group_send(operators_group(bot_id), {"type": "conversations.changed"})


def operators_group(bot_id: int) -> str:
    return f"operators.{bot_id}"


def _as_reply(written: OperatorReply) -> Reply:
    said = said_at(written.dialogue_id, written.position - 1) or written.written_at
    waited = max(0.0, (timezone.now() - said).total_seconds())
    return Reply(Response(written.text), written.bot_version_id, round(1000 * waited), None)
