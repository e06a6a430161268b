"""Reads of studies in which people talk with each other."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from turnwise.crowd.models import Assignment, Outcome, Waiting
from turnwise.crowd.places.reservation import holding
from turnwise.crowd.running.lobby_queue import PRESENCE_TIMEOUT
from turnwise.dialogues.models import Dialogue, Seat
from turnwise.dialogues.queries import dialogues_between_people
from turnwise.studies.models import Study
from turnwise.studies.queries import count_expression
from turnwise.studies.tasks import Rows
from turnwise.tasks.two_people.models import TwoPeoplePlan


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a study of two people: counts of conversations and of waiting workers."""

    finished: int
    open: int
    wanted: int
    partner_left: int
    waiting: int
    waited_in_vain: int


def plan_of(study: Study) -> TwoPeoplePlan | None:
    plan: TwoPeoplePlan | None = getattr(study, "two_people", None)
    return plan


def completed_and_planned(studies: QuerySet[Study]) -> Rows:
    """Rows of study key, completed conversations of two people, and planned ones."""
    finished = count_expression(_counted_dialogues(studies).filter(ending=Dialogue.Ending.COMPLETE))
    plans = TwoPeoplePlan.objects.filter(study__in=studies)
    return plans.values_list("study", finished, "conversations")


def progress(study: Study, *, now: datetime) -> Progress:
    plan, ended = plan_of(study), Assignment.objects.filter(study=study, outcome=Outcome.NO_PARTNER)
    active = Exists(Seat.objects.filter(holding(now, "assignment__"), dialogue=OuterRef("pk")))
    held = _counted_dialogues(Study.objects.filter(pk=study.pk)).annotate(is_active=active)
    return Progress(
        **held.aggregate(
            finished=Count("pk", filter=Q(ending=Dialogue.Ending.COMPLETE)),
            open=Count("pk", filter=Q(ending="", is_active=True)),
            partner_left=Count("pk", filter=Q(ending=Dialogue.Ending.PARTNER_LEFT)),
        ),
        wanted=plan.conversations if plan else 0,
        waiting=_waiting_people(study, now).count(),
        waited_in_vain=ended.count(),
    )


def is_full(study: Study, *, now: datetime) -> bool:
    """True if the workers who talk or wait now suffice for all remaining conversations."""
    shown = progress(study, now=now)
    return 2 * (shown.finished + shown.open) + shown.waiting >= 2 * shown.wanted


def _counted_dialogues(studies: QuerySet[Study]) -> QuerySet[Dialogue]:
    """Conversations that count towards the target: without those in which a seat is from a finished pilot."""
    over = studies.filter(pilot_over_at__isnull=False)
    of_pilots = Seat.objects.filter(assignment__participation__pilot=True, assignment__study__in=over)
    held = dialogues_between_people(studies).filter(origin=Dialogue.Origin.LIVE)
    return held.exclude(pk__in=of_pilots.values("dialogue"))


def _waiting_people(study: Study, now: datetime) -> QuerySet[Waiting]:
    there = Q(over_at=None, tab__isnull=False, seen_at__gt=now - PRESENCE_TIMEOUT, assignment__outcome="")
    return Waiting.objects.filter(there, study=study)
