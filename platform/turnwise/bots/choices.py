"""Registered bots as the choices of a form."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import Q
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.bots import composition, queries
from turnwise.bots.models import Bot, BotRevision
from turnwise.bots.search import BotSelect, BotTicks, offer_bots

_NAMED = re.compile(r"[\w-]{1,60}(@[0-9]{1,9})?", re.ASCII)
Choices = list[tuple[str | Promise, list[tuple[str, str]]]]


class PickedBot(forms.ChoiceField):
    """A registered bot, listed or not; `composition.pinned` checks whether it may be chosen."""

    widget = BotSelect

    @override
    def valid_value(self, value: Any) -> bool:
        return bool(_NAMED.fullmatch(str(value)))


class PickedBots(forms.MultipleChoiceField):
    """Several registered bots."""

    widget = BotTicks

    @override
    def valid_value(self, value: Any) -> bool:
        return bool(_NAMED.fullmatch(str(value)))


def choices_for(
    user: User, chosen: Sequence[Mapping[str, Any]], sent: Sequence[str], *, besides: Bot | None
) -> tuple[Choices, int]:
    """Choices of bots for this person, grouped by kind; chosen older revisions come first.

    Args:
        user: the person who chooses.
        chosen: bots inside the bot now.
        sent: submitted values, which the form must show again.
        besides: the bot itself.

    Returns:
        The choices, and the number of bots that are not listed.
    """
    bots = composition.choosable(user).exclude(name=besides.name if besides else "")
    names = [each["registered"] for each in [*chosen, *map(named_by, filter(_NAMED.fullmatch, sent))]]
    offer = offer_bots(bots, user, chosen=Q(name__in=names))
    newest = dict(
        BotRevision.objects.filter(bot__in=offer.bots).order_by("number").values_list("bot__name", "number")
    )
    older = [
        (value_of(each), _older(each, newest.get(each["registered"])))
        for each in chosen
        if newest.get(each["registered"]) != each["revision"]
    ]
    groups = queries.group_by_kind([queries.BotStatus(bot, "") for bot in offer.bots if bot.name in newest])
    offered: Choices = [
        (title, [(_value(each.bot.name, newest, sent), _label(each.bot, newest)) for each in rows])
        for title, rows in groups
    ]
    return ([(_("Chosen before"), older)] if older else []) + offered, offer.unlisted


def value_of(inner: Mapping[str, Any]) -> str:
    """A named bot as the value of a choice."""
    return f"{inner['registered']}@{inner['revision']}"


def named_by(value: str) -> dict[str, Any]:
    """Parse the value of a choice; without a revision it means the newest."""
    name, _at, revision = value.partition("@")
    return {"registered": name, **({"revision": int(revision)} if revision else {})}


def _value(name: str, newest: Mapping[str, int], sent: Sequence[str]) -> str:
    return name if name in sent else f"{name}@{newest[name]}"


def _label(bot: Bot, newest: Mapping[str, int]) -> str:
    return f"{bot.title} \N{EN DASH} {bot.name}, v{newest[bot.name]}"


def _older(inner: Mapping[str, Any], newest: int | None) -> str:
    named = f"{inner['registered']}, v{inner['revision']}"
    return named if newest is None else _("%(bot)s; v%(newest)d is newer") % {"bot": named, "newest": newest}
