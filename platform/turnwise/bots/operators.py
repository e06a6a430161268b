"""Operators: people of the team who answer in a bot's place, and their presence."""

from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet

from chatbots.bots.operator import OperatorBot
from chatbots.registry import REGISTRY
from turnwise.accounts.access import shared_with
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, Bot, BotVersion, OperatorPresence
from turnwise.bots.services import version_of

# An operator whose tab has been silent for this long counts as absent.
THERE = timedelta(seconds=15)
# After this long without an operator, waiting workers are told that no reply comes.
GONE = timedelta(seconds=30)


def operable_bots(user: User | AnonymousUser) -> QuerySet[Bot]:
    """The bots in whose place this person may answer."""
    return shared_with(
        user, Bot.objects.filter(adapter=OPERATED), owner="owner", named="operators", everybody=Q(pk__in=[])
    )


def settings_of(bot: Bot) -> OperatorBot.Configuration:
    return cast(OperatorBot.Configuration, REGISTRY.configuration(bot.adapter, bot.configuration))


def version_now(bot: Bot) -> BotVersion:
    """The current version of an operated bot."""
    return version_of(bot, OperatorBot(settings_of(bot)).fingerprint())


def open_tab(bot: Bot, operator: User, tab: UUID, *, now: datetime) -> OperatorPresence:
    """Record that an operator opened the page in this tab, which replaces their other tabs.

    "No new conversations" survives a reload, but not a longer absence: an operator who comes back another day
    would wait in vain.
    """
    presence, _ = OperatorPresence.objects.get_or_create(
        bot=bot, operator=operator, defaults={"tab": tab, "seen_at": now}
    )
    presence.takes_new = presence.takes_new or presence.seen_at <= now - GONE
    presence.tab, presence.seen_at = tab, now
    presence.save(update_fields=["takes_new", "tab", "seen_at"])
    return presence


def keep_alive(bot: Bot, operator: User, tab: UUID, *, now: datetime) -> OperatorPresence | None:
    """Record that the operator is still there; None if they have opened another tab."""
    rows = OperatorPresence.objects.filter(bot=bot, operator=operator, tab=tab)
    return rows.first() if rows.update(seen_at=now) else None


def take_new(bot: Bot, operator: User, tab: UUID, wanted: bool) -> None:
    """Set whether this operator gets new conversations."""
    OperatorPresence.objects.filter(bot=bot, operator=operator, tab=tab).update(takes_new=wanted)


def close_tab(bot: Bot, operator: User, tab: UUID) -> None:
    """Record that the tab was closed."""
    OperatorPresence.objects.filter(bot=bot, operator=operator, tab=tab).update(tab=None)


def present_operators(*, now: datetime) -> QuerySet[OperatorPresence]:
    """Presences of operators who are there now and may still operate the bot."""
    named = Bot.operators.through.objects.filter(bot=OuterRef("bot"), user=OuterRef("operator"))
    may = Exists(named) | Q(bot__owner=F("operator")) | Q(operator__is_superuser=True)
    return OperatorPresence.objects.filter(
        may, tab__isnull=False, seen_at__gt=now - THERE, operator__is_active=True
    )


def last_seen(bot_id: int) -> datetime | None:
    """Time at which an operator of the bot was last present; None: never."""
    seen: datetime | None = OperatorPresence.objects.filter(bot=bot_id).aggregate(at=Max("seen_at"))["at"]
    return seen
