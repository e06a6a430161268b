"""Responses written by workers: assigning contexts, and saving and revising texts.

A worker holds one context at a time. Workers who leave, or are inactive for an hour, lose it to the next one;
their earlier responses stay. So each context gets its target of responses, each by a different worker. Until
they finish, workers may change their responses, unless a response is already in a judging queue.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Max, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.models import Context
from turnwise.crowd import refusals
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.places.assignment import admit
from turnwise.crowd.places.ending import complete
from turnwise.crowd.places.reservation import HOLD, current_phase_assignments, keep_place
from turnwise.judging.models import Item
from turnwise.live.frames import RefusedError
from turnwise.responses.checks import problem_of
from turnwise.responses.models import Response, ResponseRun, Source, WritingPlace
from turnwise.responses.queries import counted_responses
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed

SYSTEM = "People"
# Most responses that a reloaded page can go back to.
LOOKING_BACK = 200

NO_SUCH_TASK = _("There is no such task. Open your study link again.")

REFUSALS = {
    "given_away": _(
        "You were away for a while, so that conversation went to somebody else. Everything you sent is "
        "saved. Please continue with the next one."
    ),
    "finished": _("You have finished. Everything is saved."),
    "judged_already": _(
        "Somebody is already judging that response, so it stays as you first sent it. Please continue with "
        "the next one."
    ),
    "unwritten": _("There is still a conversation to answer. Your responses so far are saved."),
}


@dataclass(frozen=True, slots=True)
class WriterContext:
    """A worker's part in a writing study: the facts that do not change while they write."""

    assignment_id: int
    participation_id: int
    study_code: str
    size: int
    is_pilot: bool


@dataclass(frozen=True, slots=True)
class Written:
    """Result of saving a response: the next context, if there is one, and the worker's progress."""

    items: list[dict[str, Any]]
    progress: dict[str, object]


@transaction.atomic
def begin(participation_id: int) -> Assignment:
    """Admit a worker and give them a context. Idempotent.

    Raises:
        EntryRefusedError: the study is not open, or all contexts have their responses.
    """
    assignment = admit(participation_id)
    if not assignment.outcome and hold_place(assignment) is None and not _count_written(assignment):
        later = timezone.now() + HOLD
        raise refusals.full(may_become_free=not has_enough_responses(assignment.participation.study, later))
    return assignment


def run_of(study: Study) -> ResponseRun:
    """Get or create the response run of the study's workers."""
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


# Give pilot responses repetitions beyond the target, so that others can take their places.
_MOVE_PILOT_RESPONSES = """
UPDATE responses_response AS r
   SET repetition = numbered.number
  FROM (SELECT a.id, run.repetitions + row_number() OVER (PARTITION BY a.context_id ORDER BY a.id) AS number
          FROM responses_response AS a
          JOIN responses_responserun AS run ON run.id = a.run_id
          JOIN crowd_participation AS p ON p.id = a.author_id
         WHERE run.study_id = %s AND p.pilot) AS numbered
 WHERE r.id = numbered.id
"""


def replace_pilot_responses(study: Study) -> None:
    """Let other workers write in place of the pilot's, in the caller's transaction; pilot responses are kept.

    Responses that pilot workers still write later are kept in the same way.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MOVE_PILOT_RESPONSES, [study.pk])
    runs = ResponseRun.objects.filter(study=study, state=ResponseRun.State.DONE)
    runs.update(state=ResponseRun.State.RUNNING, finished_at=None)


def _is_of_pilot_over(participation: Participation) -> bool:
    return participation.pilot and participation.study.pilot_over_at is not None


def _surplus_repetition(place: WritingPlace) -> int:
    """Next free repetition beyond the target for the place's context."""
    there = Response.objects.filter(run=place.run, context=place.context).aggregate(most=Max("repetition"))
    return 1 + max(there["most"] or 0, place.run.repetitions)


def has_enough_responses(study: Study, now: datetime) -> bool:
    """True if stored responses and those that active workers may still write reach the target."""
    share = min(study.writing.batch_size, study.writing.context_version.size)
    at_work = current_phase_assignments(Study.objects.filter(pk=study.pk)).filter(
        outcome="", active_at__gt=now - HOLD
    )
    had = at_work.annotate(n=Count("participation__responses")).values_list("n", flat=True)
    promised = sum(max(0, share - n) for n in had)
    written = counted_responses(Response.objects.filter(run__study=study)).count()
    return written + promised >= study.writing.target


def _count_written(assignment: Assignment) -> int:
    return Response.objects.filter(author=assignment.participation_id).count()


@transaction.atomic
def hold_place(assignment: Assignment, *, now: datetime | None = None) -> WritingPlace | None:
    """Return the worker's current context, or assign the next one.

    None if they have written their share, or no context is left for them.
    """
    now = now or timezone.now()
    keep_place(assignment.pk, now=now)
    participation = Participation.objects.select_for_update(of=("self",)).get(pk=assignment.participation_id)
    held = WritingPlace.objects.select_related("context", "run").filter(participation=participation).first()
    if held:
        return held
    study = participation.study
    has_share = _count_written(assignment) >= study.writing.batch_size
    return None if has_share else _next_place(run_of(study), participation, now)


# Contexts with the fewest responses come first; ties are ordered differently for each worker.
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
    # Lock first: two workers at once would both see the last context as free.
    _lock(run)
    is_away = Q(participation__assignment__active_at__lt=now - HOLD)
    has_left = ~Q(participation__assignment__outcome="")
    stale = WritingPlace.objects.filter(is_away | has_left, run=run)
    # A place whose worker is just saving is locked, so it is skipped and kept.
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


def find_writer_context(code: str, worker_id: int) -> WriterContext:
    """Find the writer's context in the study with this code.

    Raises:
        RefusedError: the worker does not write in such a study.
    """
    begun = Assignment.objects.filter(
        study__code=code,
        study__writing__isnull=False,
        participation__worker=worker_id,
    )
    assignment = begun.select_related("participation", "study__writing").first()
    if assignment is None:
        raise RefusedError("unknown_dialogue", NO_SUCH_TASK)
    participation, study = assignment.participation, assignment.participation.study
    return WriterContext(
        assignment.pk, participation.pk, study.code, study.writing.batch_size, participation.pilot
    )


@transaction.atomic
def state(writer: WriterContext, *, now: datetime | None = None) -> dict[str, Any]:
    """Data of the page: the current context, the worker's responses, and their progress.

    A worker who returns too late for their only context, with none left, has timed out.
    """
    now = now or timezone.now()
    assignment = Assignment.objects.get(pk=writer.assignment_id)
    place = None if assignment.outcome else hold_place(assignment, now=now)
    mine = Response.objects.filter(author=writer.participation_id).select_related("context")
    written = [
        context_frame(each.context) | {"text": each.text} for each in mine.order_by("created_at", "pk")
    ]
    is_over = bool(assignment.outcome)
    if not (place or written or is_over):
        complete(assignment.pk, Outcome.TIMED_OUT, now=now)
        is_over = True
    return {
        "items": [context_frame(place.context)] if place else [],
        "written": written[-LOOKING_BACK:],
        "progress": _progress(writer, len(written), place),
        "is_over": is_over,
    }


def context_frame(context: Context) -> dict[str, Any]:
    """A context in the form that the page needs."""
    return {"key": context.key, "turns": context.turns, "language": context.language}


def _progress(writer: WriterContext, written: int, place: WritingPlace | None) -> dict[str, object]:
    return {"done": written, "size": writer.size, "may_finish": place is None}


@transaction.atomic
def write(writer: WriterContext, *, key: str, text: str, now: datetime | None = None) -> Written:
    """Store or change a worker's response to the context `key`. Idempotent.

    Raises:
        RefusedError: the text is unfit (says what to change), the worker has finished, the context was given
            to another worker, or the response is already being judged. Nothing was stored.
    """
    now = now or timezone.now()
    text = text.strip()
    Participation.objects.select_for_update(of=("self",)).get(pk=writer.participation_id)
    if writer.is_pilot:  # orders this with `replace_pilot_responses`
        Study.objects.select_for_update(no_key=True).get(code=writer.study_code)
    assignment = Assignment.objects.get(pk=writer.assignment_id)
    if assignment.outcome:
        raise RefusedError("finished", REFUSALS["finished"])
    written = list(Response.objects.filter(author=writer.participation_id).select_related("context"))
    before = next((each for each in written if each.context.key == key), None)
    others = [each.text for each in written if each.context.key != key]
    if before:
        _revise(before, text, others)
    else:
        _store(_place_of(writer, key), text, others, now)
    place = hold_place(assignment, now=now)
    done = len(others) + 1
    return Written([context_frame(place.context)] if place else [], _progress(writer, done, place))


@transaction.atomic
def finish(writer: WriterContext, *, now: datetime | None = None) -> None:
    """End the work; the worker's completion code becomes valid. Idempotent.

    If no context is left for them, they finish with fewer responses and full pay.

    Raises:
        RefusedError: the worker still has a context to respond to.
    """
    now = now or timezone.now()
    assignment = Assignment.objects.get(pk=writer.assignment_id)
    if assignment.outcome:
        return
    if hold_place(assignment, now=now) or not _count_written(assignment):
        raise RefusedError("unwritten", REFUSALS["unwritten"])
    complete(assignment.pk, Outcome.COMPLETE, now=now)


def _place_of(writer: WriterContext, key: str) -> WritingPlace:
    places = WritingPlace.objects.select_related("context", "run__context_version", "participation__study")
    mine = places.select_for_update(of=("self",)).filter(participation=writer.participation_id)
    place = mine.first()
    if place is None or place.context.key != key:
        raise RefusedError("given_away", REFUSALS["given_away"])
    return place


def _refuse_unfit(text: str, context: Context, others: list[str]) -> None:
    problem = problem_of(text, context.turns, others)
    if problem:
        raise RefusedError("unfit", problem)


def _revise(response: Response, text: str, others: list[str]) -> None:
    if response.text == text:
        return  # sent again
    if Item.objects.filter(response=response).exists():
        raise RefusedError("judged_already", REFUSALS["judged_already"])
    _refuse_unfit(text, response.context, others)
    Response.objects.filter(pk=response.pk).update(text=text)
    assert response.run.study_id is not None
    results_changed(response.run.study_id)


def _store(place: WritingPlace, text: str, others: list[str], now: datetime) -> None:
    _refuse_unfit(text, place.context, others)
    run = place.run
    Response.objects.create(
        run=run,
        context=place.context,
        repetition=_surplus_repetition(place) if _is_of_pilot_over(place.participation) else place.repetition,
        text=text,
        author_id=place.participation_id,
        created_at=now,
    )
    place.delete()
    _lock(run)
    if counted_responses(run.responses.all()).count() >= run.context_version.size * run.repetitions:
        ResponseRun.objects.filter(pk=run.pk).update(state=ResponseRun.State.DONE, finished_at=now)
    assert run.study_id is not None
    results_changed(run.study_id)
