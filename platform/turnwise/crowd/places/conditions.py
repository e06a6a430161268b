"""Assign participants to the conditions of a study's factors, and count places within a condition."""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import cast

from django.db import connection
from django.db.models import Count, Q
from django.utils import timezone

from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.places.reservation import HOLD, counted_assignments, holding, occupied_places
from turnwise.live.jobs import CONDITIONS
from turnwise.studies.conditions.factors import Condition, Factor, conditions_of, names_in, restricts
from turnwise.studies.models import Study, StudyBot


def choose_condition(study: Study, *, now: datetime | None = None) -> dict[str, str]:
    """Choose the condition of a participant who is created in this transaction; empty without factors.

    It is the one with the fewest participants, of equals a random one. Those count who have finished, whose
    work is under way, or who agreed within the last hour and have not begun. A condition whose bots are all
    full is left out if another has places. Until the transaction ends, other consents to the study wait.
    """
    factors = cast("list[Factor]", study.factors)
    if not factors:
        return {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [CONDITIONS, study.pk])
    now = now or timezone.now()
    every = list(conditions_of(factors))
    offered = _with_places(study, factors, every, now) or every
    counts = _participants(study, now)
    fewest = min(counts[_key(each)] for each in offered)
    return random.choice([each for each in offered if counts[_key(each)] == fewest])


def _key(condition: Condition) -> frozenset[tuple[str, str]]:
    return frozenset(condition.items())


def _participants(study: Study, now: datetime) -> Counter[frozenset[tuple[str, str]]]:
    """Number of participants in each condition; people of a finished pilot do not count."""
    people = Participation.objects.filter(study=study, number=1)
    if study.pilot_over_at:
        people = people.exclude(pilot=True)
    fresh = Q(assignment=None, consented_at__gt=now - HOLD)
    counted = people.filter(
        fresh | Q(assignment__outcome=Outcome.COMPLETE) | holding(now, "assignment__")
    ).order_by()
    rows = counted.values_list("condition").annotate(Count("pk"))
    return Counter({_key(condition): number for condition, number in rows})


def _with_places(
    study: Study, factors: Sequence[Factor], conditions: Sequence[dict[str, str]], now: datetime
) -> list[dict[str, str]]:
    """Conditions in which at least one bot has a free place; all if no level restricts the bots."""
    if not restricts(factors, "bots"):
        return list(conditions)
    bots = list(study.study_bots.filter(bot__active=True).select_related("bot"))
    occupied = occupied_places(bots, now)
    free = {bot.bot.name for bot in bots if occupied[bot.pk] < bot.target}
    allowed = [names_in(factors, each, "bots") for each in conditions]
    return [
        condition
        for condition, names in zip(conditions, allowed, strict=True)
        if (free if names is None else names & free)
    ]


def bots_in(participation: Participation, bots: Collection[StudyBot]) -> list[StudyBot]:
    """The bots that the participant's condition allows; all without factors."""
    allowed = names_in(participation.study.factors, participation.condition, "bots")
    return [each for each in bots if allowed is None or each.bot.name in allowed]


def count_places(bots: Collection[StudyBot], condition: Condition, now: datetime) -> Counter[int | None]:
    """Finished conversations and held places of each study bot, by its key, within one condition."""
    counted = counted_assignments(bots).filter(
        Q(outcome=Outcome.COMPLETE) | holding(now), participation__condition=condition
    )
    return Counter(counted.values_list("study_bot", flat=True))
