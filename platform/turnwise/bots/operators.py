"""People of the team who answer in a bot's place: who may, who is there, and by which settings."""

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

# Who has not been heard of for so long is not there. A tab is asked every few seconds.
THERE = timedelta(seconds=15)
# With nobody there for so long, people who wait for a reply are told that none comes.
GONE = timedelta(seconds=30)


def operable_bots(user: User | AnonymousUser) -> QuerySet[Bot]:
    """The bots in whose place this person may answer."""
    return shared_with(
        user, Bot.objects.filter(adapter=OPERATED), owner="owner", named="operators", everybody=Q(pk__in=[])
    )


def settings_of(bot: Bot) -> OperatorBot.Configuration:
    return cast(OperatorBot.Configuration, REGISTRY.configuration(bot.adapter, bot.configuration))


def version_now(bot: Bot) -> BotVersion:
    """The version that answers: the bot with the settings that it has."""
    return version_of(bot, OperatorBot(settings_of(bot)).fingerprint())


def open_tab(bot: Bot, operator: User, tab: UUID, *, now: datetime) -> OperatorPresence:
    """Somebody has opened the operator's page, in this tab and from now on in no other.

    That they take no new conversations outlives a reload and a broken line, but not a page that was closed:
    who comes back another day would wait for people in vain.
    """
    presence, _ = OperatorPresence.objects.get_or_create(
        bot=bot, operator=operator, defaults={"tab": tab, "seen_at": now}
    )
    presence.takes_new = presence.takes_new or presence.seen_at <= now - GONE
    presence.tab, presence.seen_at = tab, now
    presence.save(update_fields=["takes_new", "tab", "seen_at"])
    return presence


def keep_alive(bot: Bot, operator: User, tab: UUID, *, now: datetime) -> OperatorPresence | None:
    """Note that they are still there; None if they are in another tab by now."""
    own = OperatorPresence.objects.filter(bot=bot, operator=operator, tab=tab)
    return own.first() if own.update(seen_at=now) else None


def take_new(bot: Bot, operator: User, tab: UUID, wanted: bool) -> None:
    """Have new conversations given to this operator, or none until they say so or close their page."""
    OperatorPresence.objects.filter(bot=bot, operator=operator, tab=tab).update(takes_new=wanted)


def close_tab(bot: Bot, operator: User, tab: UUID) -> None:
    """The tab was closed."""
    OperatorPresence.objects.filter(bot=bot, operator=operator, tab=tab).update(tab=None)


def present_operators(*, now: datetime) -> QuerySet[OperatorPresence]:
    """Those who are at the page of a bot now, and may still operate it."""
    named = Bot.operators.through.objects.filter(bot=OuterRef("bot"), user=OuterRef("operator"))
    may = Exists(named) | Q(bot__owner=F("operator")) | Q(operator__is_superuser=True)
    return OperatorPresence.objects.filter(
        may, tab__isnull=False, seen_at__gt=now - THERE, operator__is_active=True
    )


def last_seen(bot_id: int) -> datetime | None:
    """When an operator of the bot was last heard of; None: never."""
    seen: datetime | None = OperatorPresence.objects.filter(bot=bot_id).aggregate(at=Max("seen_at"))["at"]
    return seen
