"""Places of a study: who holds one, for how long, and how many are taken."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from crowd.models import Assignment, Outcome, Participation
from studies.models import Study, StudyBot

# A worker who is silent for this long gives their place back to the pool (they may still finish).
HOLD = timedelta(hours=1)
# Before they have sent anything: else a few clicks on Start would empty a study's places for an hour.
RESERVED = timedelta(minutes=3)
# And of one network address no more than so many of these: else one person without cookies could press Start
# for all places again and again. Behind one address sits a class, too, so nobody is turned away for it: at
# worst a few of them carry a bot above its target.
MOST_RESERVED_FROM_AN_ADDRESS = 3
UNTOUCHED = Q(outcome="", active_at=F("assigned_at"))
"""Assignments in which nothing was sent yet."""


def of_this_phase(studies: QuerySet[Study]) -> QuerySet[Assignment]:
    """Assignments that count towards a study's targets: once its pilot is over, those of it do not."""
    over = studies.filter(pilot_over_at__isnull=False)
    of_pilots = Participation.objects.filter(pilot=True, study__in=over)
    return Assignment.objects.filter(study__in=studies).exclude(participation__in=of_pilots)


def counted(bots: Collection[StudyBot]) -> QuerySet[Assignment]:
    """Assignments of these bots that count towards their targets."""
    studies = Study.objects.filter(pk__in={bot.study_id for bot in bots})
    return of_this_phase(studies).filter(study_bot__in=bots)


def places_taken(bots: Collection[StudyBot], now: datetime) -> Counter[int]:
    """Finished and live conversations of each of these bots of a study, by its key."""
    of_bots = counted(bots)
    settled = of_bots.filter(Q(outcome=Outcome.COMPLETE) | _at_work(now))
    taken = Counter(dict(settled.values_list("study_bot").annotate(n=Count("pk"))))
    reserved = of_bots.filter(UNTOUCHED, active_at__gt=now - RESERVED).order_by("pk")
    from_address = Counter[str]()
    for study_bot, address in reserved.values_list("study_bot", "participation__address"):
        from_address[address] += 1
        taken[study_bot] += not address or from_address[address] <= MOST_RESERVED_FROM_AN_ADDRESS
    return taken


def holding(now: datetime, prefix: str = "") -> Q:
    """Assignments under way whose worker was seen lately; `prefix` is the path to them."""
    return _at_work(now, prefix) | Q(**{f"{prefix}outcome": "", f"{prefix}active_at__gt": now - RESERVED})


def _at_work(now: datetime, prefix: str = "") -> Q:
    """Those of them who have sent something."""
    seen_lately = Q(**{f"{prefix}outcome": "", f"{prefix}active_at__gt": now - HOLD})
    return seen_lately & Q(**{f"{prefix}active_at__gt": F(f"{prefix}assigned_at")})


def keep_place(assignment_id: int, *, now: datetime | None = None) -> None:
    """Note that the worker is at work, so that the place is not given to another."""
    Assignment.objects.filter(pk=assignment_id).update(active_at=now or timezone.now())


@transaction.atomic
def keep_places(assignments: Collection[int], *, now: datetime | None = None) -> None:
    """The same of many. One that somebody else writes just now is left out: it is not forgotten."""
    free = Assignment.objects.filter(pk__in=assignments).select_for_update(skip_locked=True, no_key=True)
    Assignment.objects.filter(pk__in=free.values("pk")).update(active_at=now or timezone.now())
