"""Reads of what raters said of one bot, over judging studies."""

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery

from turnwise.bots.models import Bot
from turnwise.dialogues.models import Turn
from turnwise.judging.models import Item
from turnwise.studies.models import Study

VOTES = {"given": "judged by anybody", "split": "judged differently", "none": "not judged yet"}
"""What the items can be narrowed to, by its name in an address."""


def judged_of(bot: Bot, studies: QuerySet[Study]) -> "QuerySet[Item]":
    """The bot's responses and turns in the queues of these studies, the newest first; each knows `before`."""
    said_before = Turn.objects.filter(
        dialogue=OuterRef("turn__dialogue"), position=OuterRef("turn__position") - 1
    )
    return (
        Item.objects.filter(study__in=studies, right_answers__isnull=True)
        .filter(Q(response__bot_version__bot=bot) | Q(turn__bot_version__bot=bot))
        .annotate(before=Subquery(said_before.values("text")[:1]))
        .select_related("study", "ask", "response__context", "turn")
        .prefetch_related("slots__label")
        .order_by("-pk")
    )


def with_votes(items: "QuerySet[Item]", kind: str) -> "QuerySet[Item]":
    """Those of the items that raters have judged, judged differently, or not judged; all for another word."""
    if kind not in VOTES:
        return items
    counted = items.annotate(given=Count("slots__label"), kinds=Count("slots__label__answers", distinct=True))
    narrowed = {"given": Q(given__gt=0), "split": Q(kinds__gt=1), "none": Q(given=0)}
    return counted.filter(narrowed[kind])
