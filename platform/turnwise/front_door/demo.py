"""A demo conversation without account that stores nothing: few short messages to one local bot."""

from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.utils.translation import gettext as _

from chatbots.base import Context
from turnwise.accounts.limits import limit_concurrency
from turnwise.bots import trial
from turnwise.bots.hosting import client
from turnwise.bots.models import Bot
from turnwise.bots.small_model.services import is_shipped

MOST_MESSAGES = 5
LONGEST_MESSAGE = 300
RATE = "20/m"
"""Messages from one network."""
MOST_AT_ONCE = 2
"""Replies under way in this process, so that strangers cannot occupy it."""
LONGEST_REPLY = 2_000
SHIPPED = ("smollm2", "meena-base", "eliza", "generic")
"""The bot that *Bots* adds by a button, and bots of the demo studies.

The first that is active is used, unless a setting names another one.
"""
NOBODY = 0


def demo_bot() -> Bot | None:
    """The bot that strangers may talk with, None if there is none or the operator wants none."""
    names = [settings.DEMO_BOT] if settings.DEMO_BOT else list(SHIPPED)
    by_name = {bot.name: bot for bot in Bot.objects.filter(name__in=names, active=True)}
    # A bot that somebody has registered under a shipped name is theirs, and may cost money.
    usable = (by_name[name] for name in names if name in by_name)
    return next(
        (bot for bot in usable if settings.DEMO_BOT or bot.adapter == bot.name or is_shipped(bot)), None
    )


def context_of(request: Any) -> Context:
    """Parse a request `{"turns": [texts, oldest first]}`.

    Raises:
        UnusableError: it is something else, or longer than the demo is.
    """
    context = trial.context_of(request)
    texts = [turn.text for turn in context.turns]
    if len(texts) > 2 * MOST_MESSAGES - 1:
        raise trial.UnusableError(_("The demo ends after %(n)d messages.") % {"n": MOST_MESSAGES})
    if any(len(text) > LONGEST_MESSAGE for text in texts[::-2]):
        says = _("A message of the demo has at most %(n)d characters.")
        raise trial.UnusableError(says % {"n": LONGEST_MESSAGE})
    if any(len(text) > LONGEST_REPLY for text in texts):
        raise trial.UnusableError(_("One of the replies is longer than any reply of the demo."))
    return context


def reply(bot: Bot, context: Context) -> str:
    """Ask the bot for a reply.

    Raises:
        chatbots.errors.ChatbotError: it does not answer.
        turnwise.accounts.limits.TooManyAtOnceError: too many strangers wait already.
    """
    with limit_concurrency(MOST_AT_ONCE, "demo", NOBODY):
        answer = async_to_sync(client.reply)(bot.pk, context, tenant="demo")
    return answer.response.text[:LONGEST_REPLY]
