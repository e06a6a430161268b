"""Waiting for the reply of an operator, as `turnwise.bots.client` waits for that of a bot."""

import asyncio
from collections import defaultdict
from contextlib import suppress

from channels.layers import get_channel_layer
from django.utils import timezone

from chatbots.base import Response
from turnwise.bots.client import Reply
from turnwise.dialogues import operated
from turnwise.dialogues.models import OperatorReply
from turnwise.dialogues.seated import Seated
from turnwise.live.database import in_database

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
            written = await in_database(operated.look, seat, bot_id, position, since=since, now=now)
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
    said = operated.said_at(written.dialogue_id, written.position - 1) or written.written_at
    waited = max(0.0, (timezone.now() - said).total_seconds())
    return Reply(Response(written.text), written.bot_version_id, round(1000 * waited), None)
