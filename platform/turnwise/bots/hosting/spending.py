"""Spending of bots: counts the tokens of each reply, and refuses requests once a bot's budget is reached.

The process that asked a bot counts its reply, before anyone sees it. Requests that are in progress when the
budget is reached are finished, because the service charges for them in any case: they are shown, stored and
counted. So a budget is exceeded at most by the requests that were in progress.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from chatbots.errors import ChatbotError
from chatbots.replies import Response, Usage
from turnwise.bots import budgets
from turnwise.bots.budgets import CONCERNED
from turnwise.bots.models import BotBudget
from turnwise.live.database import in_database

log = logging.getLogger(__name__)

OLD_AFTER_SECONDS = 1.5
"""Age from which the list of bots with prices or budgets is read again."""

_UNKNOWN = Usage()

_background: set[asyncio.Task[None]] = set()


class BudgetReachedError(ChatbotError):
    """The bot's budget of this month is reached; nothing was started."""


async def refuse_over_budget(bot_id: int) -> None:
    """Refuse a request to a bot whose budget of this month is reached.

    Raises:
        BudgetReachedError: it is; the message is for researchers.
    """
    if CONCERNED.is_older(OLD_AFTER_SECONDS):
        await in_database(CONCERNED.read)
    if bot_id in CONCERNED.limited and (sentence := await in_database(partial(_refusal, bot_id))):
        raise BudgetReachedError(sentence)


def _refusal(bot_id: int) -> str:
    found = BotBudget.objects.filter(bot=bot_id, reached_in=budgets.month_of(budgets.today()))
    budget = found.select_related("bot").first()
    if budget is None:
        return ""
    return _("%(bot)s is not asked. %(why)s") % {
        "bot": budget.bot,
        "why": budgets.reached_sentence(budget),
    }


async def is_limited(bot_id: int) -> bool:
    """True if the bot has a budget; one that another process set counts within `OLD_AFTER_SECONDS`."""
    if CONCERNED.is_older(OLD_AFTER_SECONDS):
        await in_database(CONCERNED.read)
    return bot_id in CONCERNED.limited


async def count(bot_id: int, response: Response | None) -> None:
    """Add a reply to the usage of its bot; None: a request that may have been charged, without an answer.

    A reply without numbers of tokens counts only if the bot has prices. An error of the database is logged:
    the reply is there, and whoever stores it meets the same database.
    """
    if not _is_counted(bot_id, response):
        return
    try:
        await in_database(partial(_count, bot_id, _usage_of(response)))
    except DatabaseError:
        log.exception("A reply of bot %s is missing from its usage.", bot_id)


def count_loading(bot_id: int, responses: Sequence[Response]) -> None:
    """Add the responses that a bot got while it was loaded; synchronous, for the thread that loads it."""
    if responses and CONCERNED.is_older(OLD_AFTER_SECONDS):
        CONCERNED.read()
    for response in responses:
        if _is_counted(bot_id, response):
            _count(bot_id, _usage_of(response))


def _usage_of(response: Response | None) -> Usage:
    return response.usage if response and response.usage else _UNKNOWN


def _is_counted(bot_id: int, response: Response | None) -> bool:
    return bot_id in CONCERNED.priced or _usage_of(response) != _UNKNOWN


def count_later(bot_id: int) -> None:
    """Count a request whose caller has left, in the background."""
    task = asyncio.create_task(count(bot_id, None))
    _background.add(task)
    task.add_done_callback(_background.discard)


_ADD = """
INSERT INTO bots_botusage AS usage (bot_id, day, replies, unknown, prompt, cached, completion)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (bot_id, day) DO UPDATE SET
       replies = usage.replies + EXCLUDED.replies,
       unknown = usage.unknown + EXCLUDED.unknown,
       prompt = usage.prompt + EXCLUDED.prompt,
       cached = usage.cached + EXCLUDED.cached,
       completion = usage.completion + EXCLUDED.completion
"""


def _count(bot_id: int, usage: Usage) -> None:
    """Add to the row of the day. After a lost connection it may run twice, so that too much is counted."""
    day, numbers = budgets.today(), (0, 1, 0, 0, 0)
    if usage.prompt is not None and usage.completion is not None:
        numbers = (1, 0, usage.prompt, min(usage.cached or 0, usage.prompt), usage.completion)
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [bot_id, day, *numbers])
    if bot_id in CONCERNED.limited:
        budgets.update_state(bot_id, day=day)
