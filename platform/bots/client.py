"""How the rest of the platform talks to a bot."""

import time
from dataclasses import dataclass

from channels.db import database_sync_to_async

from bots import host
from bots.models import Bot
from chatbots.base import Context, Response
from chatbots.errors import BotFailedError


@dataclass(frozen=True, slots=True)
class Reply:
    """A bot's response with what is needed to reproduce and to time it."""

    response: Response
    version_id: int
    latency_ms: int
    seed: int | None


async def reply(bot_id: int, context: Context) -> Reply:
    """Ask the resident bot for its response to `context`.

    Raises:
        chatbots.errors.ChatbotError: busy, late or failed, each its own class.
    """
    hosted = host.hosted_here(bot_id) or await _host_now(bot_id)
    started = time.monotonic()
    response = await hosted.resident.respond(context)
    if hosted.version_id is None:
        raise BotFailedError(f"Bot {bot_id} answered before its version was recorded.")
    return Reply(response, hosted.version_id, round((time.monotonic() - started) * 1000), context.seed)


@database_sync_to_async
def _host_now(bot_id: int) -> host.HostedBot:
    """A bot registered after this process started is loaded when it is first needed."""
    bot = Bot.objects.filter(pk=bot_id, active=True).first()
    if bot is None:
        raise BotFailedError(f"Bot {bot_id} is switched off. An admin can switch it on under Bots.")
    return host.host(bot)
