"""People's responses: which context a worker gets, and what becomes of what they write.

A worker holds one context at a time. Who is silent for an hour loses it to the next who comes; what they
wrote before stays. So each context gets as many responses as are wanted, each by another worker.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Count
from django.utils import timezone

from crowd import refusals
from crowd.models import Assignment, Participation
from crowd.services import HOLD, admit, complete, keep_place
from responses.checks import problem_of
from responses.models import Response, ResponseRun, Source, WritingPlace
from studies.models import Study
from studies.services import results_changed

SYSTEM = "People"
GONE = (
    "You were away for a while, so that conversation went to somebody else. Here is another one. "
    "All that you sent is saved."
)
SENT_ALREADY = "That response was saved already. Here is the next conversation."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a text: nothing to say if it was stored."""

    say: str = ""
    is_stored: bool = False


@transaction.atomic
def begin(participation_id: int) -> Assignment:
    """Let a worker start, with a context to respond to. Safe to repeat.

    Raises:
        EntryRefusedError: the study is not open, or all contexts have their responses.
    """
    assignment = admit(participation_id)
    if not assignment.outcome and hold_place(assignment) is None and not _written(assignment):
        later = timezone.now() + HOLD
        raise refusals.full(may_become_free=not is_written(assignment.participation.study, later))
    return assignment


def run_of(study: Study) -> ResponseRun:
    """The run in which the study's workers write."""
    run, _ = ResponseRun.objects.get_or_create(
        study=study,
        defaults={
            "context_version": study.writing.context_version,
            "source": Source.PERSON,
            "system": SYSTEM,
            "owner": study.owner,
            "repetitions": study.writing.responses_per_context,
            "state": ResponseRun.State.RUNNING,
        },
    )
    return run


def is_written(study: Study, now: datetime) -> bool:
    """Whether what has been written, and what those who are at it may still write, is all that is wanted."""
    share = min(study.writing.batch_size, study.writing.context_version.size)
    at_work = Assignment.objects.filter(participation__study=study, outcome="", active_at__gt=now - HOLD)
    had = at_work.annotate(n=Count("participation__responses")).values_list("n", flat=True)
    promised = sum(max(0, share - n) for n in had)
    written = Response.objects.filter(run__study=study).count()
    return written + promised >= study.writing.wanted


def _written(assignment: Assignment) -> int:
    return Response.objects.filter(author=assignment.participation_id).count()


@transaction.atomic
def hold_place(assignment: Assignment, *, now: datetime | None = None) -> WritingPlace | None:
    """The context that the worker has before them; the next one if they have none.

    None if they have written their share, or nothing is left for them. Then they are done: their
    completion code is valid.
    """
    now = now or timezone.now()
    keep_place(assignment.pk, now=now)
    participation = Participation.objects.select_for_update(of=("self",)).get(pk=assignment.participation_id)
    held = WritingPlace.objects.select_related("context", "run").filter(participation=participation).first()
    if held:
        return held
    study = participation.study
    has_share = _written(assignment) >= study.writing.batch_size
    place = None if has_share else _next_place(run_of(study), participation, now)
    if place is None and _written(assignment):
        complete(assignment.pk, Assignment.Outcome.COMPLETE, now=now)
    return place


# Contexts with the fewest responses first; among those, each worker has an order of their own.
_TAKE = """
INSERT INTO responses_writingplace (participation_id, run_id, context_id, repetition, held_since)
SELECT %(participation)s, %(run)s, c.id, r.n, %(now)s
  FROM contexts_context c
 CROSS JOIN generate_series(1, %(repetitions)s) AS r(n)
 WHERE c.version_id = %(version)s
   AND NOT EXISTS (SELECT FROM responses_response a
                    WHERE (a.run_id, a.context_id) = (%(run)s, c.id)
                      AND (a.repetition = r.n OR a.author_id = %(participation)s))
   AND NOT EXISTS (SELECT FROM responses_writingplace p
                    WHERE (p.run_id, p.context_id, p.repetition) = (%(run)s, c.id, r.n))
 ORDER BY r.n, md5(c.key || %(participation)s)
 LIMIT 1
ON CONFLICT DO NOTHING
"""


def _lock(run: ResponseRun) -> None:
    ResponseRun.objects.select_for_update(no_key=True).get(pk=run.pk)


def _next_place(run: ResponseRun, participation: Participation, now: datetime) -> WritingPlace | None:
    # One at a time: two who looked at once would both see the last context free.
    _lock(run)
    stale = WritingPlace.objects.filter(run=run, participation__assignment__active_at__lt=now - HOLD)
    # Whoever sends theirs in this moment has it locked, and keeps it.
    free = stale.select_for_update(of=("self",), skip_locked=True).values_list("pk", flat=True)
    WritingPlace.objects.filter(pk__in=list(free)).delete()
    values: dict[str, int | datetime] = {
        "participation": participation.pk,
        "run": run.pk,
        "version": run.context_version_id,
        "repetitions": run.repetitions,
        "now": now,
    }
    with connection.cursor() as cursor:
        cursor.execute(_TAKE, values)
    places = WritingPlace.objects.select_related("context", "run")
    return places.filter(participation=participation).first()


@transaction.atomic
def submit(assignment: Assignment, key: str, text: str, *, now: datetime | None = None) -> Outcome:
    """Store what a worker wrote to the context `key`, or say what to change. Safe to repeat."""
    now = now or timezone.now()
    keep_place(assignment.pk, now=now)
    Participation.objects.select_for_update(of=("self",)).get(pk=assignment.participation_id)
    places = WritingPlace.objects.select_related("context", "run__context_version")
    mine = places.select_for_update(of=("self",)).filter(participation=assignment.participation_id)
    place = mine.first()
    written = Response.objects.filter(author=assignment.participation_id)
    earlier = dict(written.values_list("context__key", "text"))
    if place is None or place.context.key != key:
        return Outcome(SENT_ALREADY if key in earlier else GONE)
    problem = problem_of(text, place.context.turns, earlier.values())
    if problem:
        return Outcome(problem)
    _store(place, text.strip(), now)
    return Outcome(is_stored=True)


def _store(place: WritingPlace, text: str, now: datetime) -> None:
    run = place.run
    Response.objects.create(
        run=run,
        context=place.context,
        repetition=place.repetition,
        text=text,
        author_id=place.participation_id,
        created_at=now,
    )
    place.delete()
    _lock(run)
    if run.responses.count() >= run.context_version.size * run.repetitions:
        ResponseRun.objects.filter(pk=run.pk).update(state=ResponseRun.State.DONE, finished_at=now)
    assert run.study_id is not None
    results_changed(run.study_id)
