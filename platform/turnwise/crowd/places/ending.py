"""The end of a participation, and what is noted of it afterwards."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Literal

from django.db import connection, transaction
from django.utils import timezone

from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.pay import ledger
from turnwise.crowd.places.assignment import lock_participation
from turnwise.studies import bundles
from turnwise.studies.services import results_changed


@transaction.atomic(savepoint=False)  # the end and its pay are stored together, or neither is
def complete(assignment_id: int, outcome: Outcome, *, now: datetime) -> None:
    """End an assignment, in the caller's transaction; the worker's completion code becomes valid."""
    assignment = Assignment.objects.select_related("participation").get(pk=assignment_id)
    if Assignment.objects.filter(pk=assignment_id, outcome="").update(
        outcome=outcome, ended_at=now, active_at=now
    ):
        ledger.settle(assignment, outcome, now)
    results_changed(assignment.study_id)


@transaction.atomic
def end(participation_id: int, outcome: Outcome, *, now: datetime | None = None) -> bool:
    """End a participation before its work is done: they left, returned the task, or ran out of time.

    Their place is free at once. Safe to repeat.

    Args:
        participation_id: whose.
        outcome: how.
        now: when.

    Returns:
        Whether it was still open; an end that was there before stays as it is.
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
    """Exclude a worker from the study's analysis without them; an empty reason takes that back.

    The labels stay, and count in the analysis of all workers; the pay is untouched. It holds for each time
    that they take part.
    """
    own = Participation.objects.get(pk=participation_id)
    every = Participation.objects.filter(worker=own.worker_id, study=own.study_id)
    # In one order: two of one worker's times may be excluded at once.
    list(every.select_for_update().order_by("pk").values_list("pk"))
    excluded_reason = reason.strip()[:500]
    every.update(
        excluded_reason=excluded_reason,
        excluded_at=(now or timezone.now()) if excluded_reason else None,
        excluded_by=by if excluded_reason else None,
    )
    results_changed(own.study_id)
    own.refresh_from_db()
    return own


def note_signs(study_id: int, signs: Mapping[str, str]) -> None:
    """Keep with each participation what a report found, by pseudonym; in the caller's transaction."""
    _note(study_id, "signs", signs)


def note_proposals(study_id: int, reasons: Mapping[str, str]) -> None:
    """Keep, likewise, whom the study's rules propose to exclude. Nobody is excluded by it."""
    _note(study_id, "proposed_reason", reasons)


# Of thousands of people in one statement; who has the same note already is not written again.
_NOTE = """
UPDATE crowd_participation AS p SET {field} = said.note
  FROM unnest(%s::text[], %s::text[]) AS said (worker, note)
 WHERE p.study_id = %s AND p.pseudonym = said.worker AND p.{field} <> said.note
"""


def _note(study_id: int, field: Literal["signs", "proposed_reason"], said: Mapping[str, str]) -> None:
    here = Participation.objects.filter(study_id=study_id)
    here.exclude(**{field: ""}).exclude(pseudonym__in=said).update(**{field: ""})
    with connection.cursor() as cursor:
        cursor.execute(_NOTE.format(field=field), [list(said), list(said.values()), study_id])


@transaction.atomic
def delete_workers(worker_ids: Iterable[int]) -> None:
    """Delete workers with their conversations and labels; the reports of their studies follow."""
    workers = Worker.objects.filter(pk__in=list(worker_ids))
    studies = Participation.objects.filter(worker__in=workers).values_list("study_id", flat=True)
    touched = sorted(set(studies))
    workers.delete()
    for study_id in touched:
        results_changed(study_id)
    bundles.forget(touched)
