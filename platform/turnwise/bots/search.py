"""Choosing among many bots: a form lists the likely ones, and any other can be named."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import F, Max, Q, QuerySet
from django.utils.translation import gettext as _
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.bots.models import Bot

MOST_OFFERED = 12
MOST_FOUND = 8
LONGEST_SOUGHT = 120


@dataclass(frozen=True, slots=True)
class Offered:
    """Bots that a form lists, and the number of further ones."""

    bots: Sequence[Bot]
    unlisted: int


def filter_bots(bots: QuerySet[Bot], sought: str) -> QuerySet[Bot]:
    """Filter bots by a part of the title or name."""
    return bots.filter(Q(title__icontains=sought) | Q(name__icontains=sought)) if sought else bots


def offer_bots(
    bots: QuerySet[Bot], user: User, *, chosen: Q | None = None, most: int = MOST_OFFERED
) -> Offered:
    """Offer `most` bots: those of the user's newest studies, their own, the newest; plus all chosen."""
    among = Bot.objects.filter(pk__in=bots.order_by().values("pk"))
    used = Max("study_bots__study__created_at", filter=Q(study_bots__study__owner=user))
    by_use = among.annotate(used=used, is_own=Q(owner=user)).order_by(
        F("used").desc(nulls_last=True), F("is_own").desc(nulls_last=True), "-created_at", "name"
    )
    first: list[Bot] = [*by_use[: most + 1]]
    if len(first) <= most:
        return Offered(sorted(first, key=lambda bot: bot.name), 0)
    listed = first[:most]
    if chosen:
        listed = [*among.filter(chosen).exclude(pk__in=[bot.pk for bot in listed]), *listed]
    return Offered(listed, max(0, among.count() - len(listed)))


def bots_named(bots: QuerySet[Bot], names: Iterable[str]) -> list[Bot]:
    """Look up bots by name.

    Raises:
        ValidationError: one is not among them.
    """
    unique_names = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    by_name = {bot.name: bot for bot in bots.filter(name__in=unique_names)}
    for name in unique_names:
        if name not in by_name:
            says = _("There is no bot “%(name)s” that you can choose. Take its name from the list of bots.")
            raise ValidationError(says % {"name": name[:60]})
    return [by_name[name] for name in unique_names]


def typed_names(data: Any, field: str) -> list[str]:
    """Names typed into the text field beside a list of bots."""
    return [name.strip() for name in data.get(f"{field}-other", "")[:2000].split(",") if name.strip()]


class BotSelect(forms.Select):
    """Select of one bot: a listed one, or one named beside the list.

    Attributes:
        unlisted: number of bots that are not listed.
        takes: value of a found bot: its "pk" or its "name".
        typed: text typed beside the list.
    """

    unlisted = 0
    takes = "pk"
    typed = ""

    @override
    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        self.typed = ", ".join(typed_names(data, name))
        return self.typed or super().value_from_datadict(data, files, name)


class BotTicks(forms.CheckboxSelectMultiple):
    """Checkboxes of several bots, listed or named beside the list; attributes as of `BotSelect`."""

    unlisted = 0
    takes = "name"
    typed = ""

    @override
    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[str]:
        typed = typed_names(data, name)
        self.typed = ", ".join(typed)
        return [*super().value_from_datadict(data, files, name), *typed]


class BotField(forms.ModelChoiceField[Bot]):
    """A field for one of these bots, by key or name."""

    widget = BotSelect

    def __init__(self, bots: QuerySet[Bot], user: User, *, chosen: Iterable[Any] = (), **kwargs: Any) -> None:
        """`chosen`: keys or names of those that must be listed."""
        super().__init__(bots, empty_label=None, **kwargs)
        texts = [str(each) for each in chosen if each]
        keys = [int(each) for each in texts if each.isascii() and each.isdecimal() and len(each) < 10]
        offer = offer_bots(bots, user, chosen=Q(pk__in=keys) | Q(name__in=texts))
        self.widget.choices = [(bot.pk, self.label_from_instance(bot)) for bot in offer.bots]
        self.widget.unlisted = offer.unlisted

    @override
    def to_python(self, value: Any) -> Bot | None:
        if isinstance(value, str) and value and not value.isdecimal():
            assert self.queryset is not None
            return bots_named(self.queryset, [value])[0]
        return super().to_python(value)
