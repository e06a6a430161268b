"""End participations, and store exclusions and findings about them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from django.db import connection, transaction
from django.utils import timezone

from turnwise.accounts import erasures
from turnwise.accounts.models import Erasure, User
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.pay import ledger
from turnwise.crowd.places.assignment import lock_participation
from turnwise.studies import bundles
from turnwise.studies.services import results_changed


@transaction.atomic(savepoint=False)  # the end and its pay are stored together, or neither is
def complete(assignment_id: int, outcome: Outcome, *, now: datetime) -> None:
    """End an assignment and settle its pay; the worker's completion code becomes valid."""
    assignment = Assignment.objects.select_related("participation").get(pk=assignment_id)
    if Assignment.objects.filter(pk=assignment_id, outcome="").update(
        outcome=outcome, ended_at=now, active_at=now
    ):
        ledger.settle(assignment, outcome, now)
    results_changed(assignment.study_id)


@transaction.atomic
def end(participation_id: int, outcome: Outcome, *, now: datetime | None = None) -> bool:
    """End a participation before its work is done: the worker left, returned the task, or ran out of time.

    The place is free at once. Idempotent.

    Args:
        participation_id: participation to end.
        outcome: its outcome.
        now: time of the end.

    Returns:
        True if the participation was still open; an earlier outcome is not changed.
    """
    now = now or timezone.now()
    participation = lock_participation(participation_id)
    assignment, is_new = Assignment.objects.get_or_create(
        participation=participation,
        defaults={
            "study_id": participation.study_id,
            "assigned_at": now,
            "active_at": now,
            "outcome": outcome,
            "ended_at": now,
        },
    )
    if assignment.outcome and not is_new:
        return False
    complete(assignment.pk, outcome, now=now)
    return True


@transaction.atomic
def exclude(participation_id: int, *, reason: str, by: User, now: datetime | None = None) -> Participation:
    """Exclude a worker from the study's analysis of included workers; an empty reason undoes it.

    The exclusion covers all participations of the worker in the study. The labels stay and count in the
    analysis of all workers; the pay is unchanged.
    """
    participation = Participation.objects.get(pk=participation_id)
    every = Participation.objects.filter(worker=participation.worker_id, study=participation.study_id)
    # Lock in one order: two participations of the worker may be excluded at the same time.
    list(every.select_for_update().order_by("pk").values_list("pk"))
    excluded_reason = reason.strip()[:500]
    every.update(
        excluded_reason=excluded_reason,
        excluded_at=(now or timezone.now()) if excluded_reason else None,
        excluded_by=by if excluded_reason else None,
    )
    results_changed(participation.study_id)
    participation.refresh_from_db()
    return participation


def save_signs(study_id: int, signs: Mapping[str, str]) -> None:
    """Store a report's signs of carelessness or fraud, given by pseudonym, in the caller's transaction."""
    _save_notes(study_id, "signs", signs)


def save_proposed_exclusions(study_id: int, reasons: Mapping[str, str]) -> None:
    """Store the exclusions that the study's rules propose, given by pseudonym. It excludes no worker."""
    _save_notes(study_id, "proposed_reason", reasons)


# One statement for thousands of workers; unchanged rows are not written again.
_NOTE = """
UPDATE crowd_participation AS p SET {field} = coalesce(new.note, '')
  FROM crowd_participation AS old
  LEFT JOIN unnest(%s::text[], %s::text[]) AS new (worker, note) ON new.worker = old.pseudonym
 WHERE p.id = old.id AND old.study_id = %s AND p.{field} <> coalesce(new.note, '')
"""


def _save_notes(study_id: int, field: Literal["signs", "proposed_reason"], notes: Mapping[str, str]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_NOTE.format(field=field), [list(notes), list(notes.values()), study_id])


@transaction.atomic
def delete_workers(worker_ids: Iterable[int]) -> None:
    """Delete workers with their conversations and labels, and have the reports of their studies updated."""
    workers = Worker.objects.filter(pk__in=list(worker_ids))
    studies = Participation.objects.filter(worker__in=workers).values_list("study_id", flat=True)
    touched = sorted(set(studies))
    erasures.begin(Erasure.Reason.WORKERS)
    workers.delete()
    for study_id in touched:
        results_changed(study_id)
    bundles.delete_bundles_quoting(touched)
