"""Reads of studies in which people talk with each other."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from turnwise.crowd.models import Assignment, Outcome, Waiting
from turnwise.crowd.places.reservation import holding
from turnwise.crowd.running.lobby_queue import THERE
from turnwise.dialogues.models import Dialogue, Seat
from turnwise.dialogues.queries import of_people
from turnwise.studies.models import Study
from turnwise.studies.queries import number_of
from turnwise.studies.tasks import Rows
from turnwise.tasks.two_people.models import TwoPeoplePlan


@dataclass(frozen=True, slots=True)
class Progress:
    """How far such a study is: conversations of two people, and who waits for one now."""

    finished: int
    open: int
    wanted: int
    partner_left: int
    waiting: int
    waited_in_vain: int


def plan_of(study: Study) -> TwoPeoplePlan | None:
    plan: TwoPeoplePlan | None = getattr(study, "two_people", None)
    return plan


def finished_and_wanted(studies: QuerySet[Study]) -> Rows:
    """Of each of these studies its key, its finished conversations of two people, and how many are wanted."""
    finished = number_of(_held_here(studies).filter(ending=Dialogue.Ending.COMPLETE))
    plans = TwoPeoplePlan.objects.filter(study__in=studies)
    return plans.values_list("study", finished, "conversations")


def progress(study: Study, *, now: datetime) -> Progress:
    plan, ended = plan_of(study), Assignment.objects.filter(study=study, outcome=Outcome.NO_PARTNER)
    active = Exists(Seat.objects.filter(holding(now, "assignment__"), dialogue=OuterRef("pk")))
    held = _held_here(Study.objects.filter(pk=study.pk)).annotate(is_active=active)
    return Progress(
        **held.aggregate(
            finished=Count("pk", filter=Q(ending=Dialogue.Ending.COMPLETE)),
            open=Count("pk", filter=Q(ending="", is_active=True)),
            partner_left=Count("pk", filter=Q(ending=Dialogue.Ending.PARTNER_LEFT)),
        ),
        wanted=plan.conversations if plan else 0,
        waiting=_who_waits(study, now).count(),
        waited_in_vain=ended.count(),
    )


def is_full(study: Study, *, now: datetime) -> bool:
    """Whether those who talk and wait now are enough for all conversations that are wanted."""
    shown = progress(study, now=now)
    return 2 * (shown.finished + shown.open) + shown.waiting >= 2 * shown.wanted


def _held_here(studies: QuerySet[Study]) -> QuerySet[Dialogue]:
    """Conversations that count towards what is wanted: none of a pilot that is over, not even of one side."""
    over = studies.filter(pilot_over_at__isnull=False)
    of_pilots = Seat.objects.filter(assignment__participation__pilot=True, assignment__study__in=over)
    held = of_people(studies).filter(origin=Dialogue.Origin.LIVE)
    return held.exclude(pk__in=of_pilots.values("dialogue"))


def _who_waits(study: Study, now: datetime) -> QuerySet[Waiting]:
    there = Q(over_at=None, tab__isnull=False, seen_at__gt=now - THERE, assignment__outcome="")
    return Waiting.objects.filter(there, study=study)
