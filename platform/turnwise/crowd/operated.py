"""Bots in whose place people answer: there is a place with one only while somebody is there and has room."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta

from turnwise.bots import operators, presence
from turnwise.bots.models import Bot
from turnwise.crowd.models import Assignment

# Of whom nothing has come for so long, they take up no operator's room. They may still come back.
QUIET = timedelta(minutes=5)


def admitting(bots: Collection[Bot], *, now: datetime) -> set[int]:
    """Of these bots, the ids of those that would answer somebody new."""
    return presence.available(bots) | _with_room([bot for bot in bots if bot.is_operated], now)


def _with_room(bots: Collection[Bot], now: datetime) -> set[int]:
    if not bots:
        return set()
    ids = [bot.pk for bot in bots]
    there = Counter(
        operators.present(now=now).filter(bot__in=ids, takes_new=True).values_list("bot", flat=True)
    )
    talking = Counter(
        Assignment.objects.filter(study_bot__bot__in=ids, outcome="", active_at__gt=now - QUIET).values_list(
            "study_bot__bot", flat=True
        )
    )
    return {bot.pk for bot in bots if talking[bot.pk] < there[bot.pk] * operators.settings_of(bot).at_once}
