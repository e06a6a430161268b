"""Whether bots answer now: asked, not looked up."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.utils.translation import gettext as _

from chatbots.base import Context
from chatbots.errors import ChatbotError
from turnwise.bots import client
from turnwise.bots.models import Bot

GREETING = "Hi!"
LONGEST_SECONDS = 20.0
MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Tried:
    """What a bot did when it was greeted.

    Attributes:
        bot: which.
        answered: whether it answered in time.
        seconds: how long that took, or until it failed.
        says: what it answered, or why it did not.
    """

    bot: Bot
    answered: bool
    seconds: float
    says: str


def tried(bots: Sequence[Bot]) -> list[Tried]:
    """Greet all of them at once, and wait for each at most `LONGEST_SECONDS`."""
    return async_to_sync(_tried)(bots)


async def _tried(bots: Sequence[Bot]) -> list[Tried]:
    return list(await asyncio.gather(*[_greeted(bot) for bot in bots]))


async def _greeted(bot: Bot) -> Tried:
    if bot.is_operated:
        says = _("A person answers. People are admitted while somebody is at its operator's page.")
        return Tried(bot, True, 0.0, says)
    context, began = Context.from_texts([GREETING], None), time.monotonic()
    try:
        reply = await client.reply(bot.pk, context, party="opening", deadline=LONGEST_SECONDS)
    except ChatbotError as error:
        return Tried(bot, False, time.monotonic() - began, str(error)[:MOST_SHOWN])
    return Tried(bot, True, time.monotonic() - began, reply.response.text[:MOST_SHOWN])
