"""Registered bots as the choices of a form."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _

from accounts.models import User
from bots import members, queries
from bots.models import Bot, BotRevision

Choices = list[tuple[str | Promise, list[tuple[str, str]]]]


def choices_for(user: User, chosen: Sequence[Mapping[str, Any]], *, besides: Bot | None) -> Choices:
    """The bots that this person may choose, by kind, each as it is now; first what is chosen and older."""
    bots = members.choosable(user).exclude(name=besides.name if besides else "")
    newest = dict(
        BotRevision.objects.filter(bot__in=bots.order_by().values("pk"))
        .order_by("number")
        .values_list("bot__name", "number")
    )
    older = [
        (value_of(each), _older(each, newest.get(each["registered"])))
        for each in chosen
        if newest.get(each["registered"]) != each["revision"]
    ]
    groups = queries.by_kind([queries.Standing(bot, "") for bot in bots if bot.name in newest])
    offered: Choices = [
        (title, [(f"{each.bot.name}@{newest[each.bot.name]}", _shown(each.bot, newest)) for each in rows])
        for title, rows in groups
    ]
    return ([(_("Chosen before"), older)] if older else []) + offered


def value_of(inner: Mapping[str, Any]) -> str:
    """A named bot as the value of a choice."""
    return f"{inner['registered']}@{inner['revision']}"


def named_by(value: str) -> dict[str, Any]:
    """The bot that a choice names."""
    name, _at, revision = value.rpartition("@")
    return {"registered": name, "revision": int(revision)}


def _shown(bot: Bot, newest: Mapping[str, int]) -> str:
    return f"{bot.title} \N{EN DASH} {bot.name}, v{newest[bot.name]}"


def _older(inner: Mapping[str, Any], newest: int | None) -> str:
    named = f"{inner['registered']}, v{inner['revision']}"
    return named if newest is None else _("%(bot)s; v%(newest)d is newer") % {"bot": named, "newest": newest}
