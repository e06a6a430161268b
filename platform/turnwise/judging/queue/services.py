"""All writes of the labelling queue: begin a batch, save judgments, finish.

Steps that many workers take at once are SQL functions (judging/sql, docs/decisions/slots-and-leases.md).
Judgments that
arrive at the same moment share one commit (live/sockets/batches.py).
"""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, Value
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evaluation.questions import Answer, AnswersError
from turnwise.crowd import refusals
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.places.assignment import admit
from turnwise.crowd.places.ending import complete
from turnwise.crowd.places.reservation import HOLD
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.batteries.batch_allocation import comparable_questions
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.items import sources
from turnwise.judging.models import Batch, Item, JudgingPlan, Slot
from turnwise.judging.queries import abandoned_slots
from turnwise.judging.queue import training
from turnwise.judging.queue.rater_session import (
    REFUSALS,
    RaterSession,
    SavedJudgment,
    ShownItem,
    reading_of_slots,
)
from turnwise.judging.queue.shares import share_of
from turnwise.labels.services import NO_TIMING, Timing
from turnwise.live.database import Row, in_database
from turnwise.live.frames import RefusedError
from turnwise.live.sockets.batches import BatchedStep, Values
from turnwise.questions.question_sets import describe_answers_error, question_set
from turnwise.studies.models import Ask, Study
from turnwise.studies.presets import preset_of

# Items that a page holds: the current one, and the next ones so that the worker never waits.
LEASED_AHEAD = 3
# Judged items that the worker can go back to after opening the page again.
MOST_REVIEWABLE = 20

NO_SUCH_BATCH = _("There is no such task. Open your study link again.")
NOT_YOURS = _("This task belongs to someone else. Open your own study link again.")


@transaction.atomic
def begin(participation: Participation, *, language: str, now: datetime | None = None) -> Batch:
    """Give the worker a batch and its first items. Safe to repeat: an existing batch is returned.

    Raises:
        EntryRefusedError: the study is not open, or nothing is left for this worker to judge.
    """
    if training.is_due(participation):
        raise training.training_failed()
    assignment = admit(participation.pk, now=now)
    existing = Batch.objects.filter(assignment=assignment).first()
    if existing:
        return existing
    study = participation.study
    plan = plan_of(study)
    share = share_of(participation, plan, language)
    gold_at = _draw_gold_positions(plan, language, share)
    batch = Batch.objects.create(
        assignment=assignment,
        study=study,
        worker_id=participation.worker_id,
        language=language,
        size=share + len(gold_at),
        gold_at=gold_at,
        cursor=_first_cursor(study, language),
    )
    leased = _deal(batch.pk) if battery_of(study) else _lease(batch.pk, LEASED_AHEAD)
    if not leased:
        raise refusals.full(may_become_free=_is_held(batch, now or timezone.now()))
    return batch


def _draw_gold_positions(plan: JudgingPlan, language: str, share: int) -> list[int]:
    """Draw random positions for the gold items of a new batch, never before all other items.

    The batch is longer by the number of gold items, so that no other item is left out.
    """
    if not plan.gold_items or battery_of(plan.study):
        return []
    available = Item.objects.filter(
        study=plan.study_id, language=language, right_answers__isnull=False
    ).count()
    wanted = min(plan.gold_items, available)
    return sorted(random.SystemRandom().sample(range(2, share + wanted + 1), wanted))


# Open slots of each ask, by the first byte of the keys.
_OPEN = """
SELECT get_byte(uuid_send(key), 0), count(*) FROM judging_slot
 WHERE study_id = %s AND language = %s AND label_id IS NULL AND deck IS NULL AND NOT is_gold GROUP BY 1
"""


def _first_cursor(study: Study, language: str) -> UUID:
    """Draw the key after which a new batch looks for its first item, at the keys of a random ask.

    An ask's probability is its share of the open slots. So no ask waits until all others are done, and
    workers who begin at the same moment get different asks.
    """
    if len(asks_of_readers(study)) < 2:
        return UUID(int=0)
    with connection.cursor() as cursor:
        cursor.execute(_OPEN, [study.pk, language])
        wanted = dict(cursor.fetchall())
    if not wanted:
        return UUID(int=0)
    (number,) = random.SystemRandom().choices(list(wanted), weights=list(wanted.values()))
    return UUID(bytes=bytes([number]) + bytes(15))


def _is_held(batch: Batch, now: datetime) -> bool:
    """True if others hold items in the worker's language that may become free within an hour."""
    unjudged = Slot.objects.filter(study=batch.study_id, language=batch.language, label=None, is_gold=False)
    unjudged = unjudged.exclude(pk__in=abandoned_slots())
    return unjudged.filter(leased_until__range=(now, now + HOLD)).exists()


def is_judged(study: Study, now: datetime) -> bool:
    """True if every wanted judgment has been given or is leased to an active worker."""
    unjudged = Slot.objects.filter(study=study, label=None, is_gold=False).exclude(pk__in=abandoned_slots())
    if unjudged.filter(Q(leased_until=None) | Q(leased_until__lt=now)).exists():
        return False
    exceeds_limit = Func(
        F("pk"), Value(now), function="judging_exceeds_address_limit", output_field=BooleanField()
    )
    idle = Batch.objects.filter(Exists(unjudged.filter(batch=OuterRef("pk"))), study=study, done=0)
    return not idle.filter(exceeds_limit).exists()


def requeue_pilot_judgments(study: Study) -> None:
    """Have other workers judge again what the pilot judged, in the caller's transaction.

    Judgments that the pilot's workers save later are requeued by judging/sql/save.sql.
    """
    with connection.cursor() as cursor:
        cursor.execute(_REQUEUE, [study.pk])


# Once for each deck, which is requeued as a whole.
_REQUEUE = """
SELECT judging_requeue_slot(of_pilot.id)
  FROM (SELECT max(s.id) AS id
          FROM judging_slot AS s
          JOIN judging_batch AS b ON b.id = s.batch_id
          JOIN crowd_assignment AS a ON a.id = b.assignment_id
          JOIN crowd_participation AS p ON p.id = a.participation_id
         WHERE b.study_id = %s AND p.pilot AND s.label_id IS NOT NULL
         GROUP BY coalesce(s.deck, -s.id)) AS of_pilot
"""


def plan_of(study: Study) -> JudgingPlan:
    """The study's plan, created with the values of its protocol if it is missing."""
    plan, _is_new = JudgingPlan.objects.get_or_create(study=study, defaults=preset_of(study).plan)
    plan.study = study
    return plan


def get_rater_session(public_id: UUID, worker_id: int) -> RaterSession:
    """The session of the worker with this batch.

    Raises:
        RefusedError: there is no such batch, or it belongs to another worker.
    """
    batch = Batch.objects.select_related("study", "assignment").filter(public_id=public_id).first()
    if batch is None:
        raise RefusedError("unknown_dialogue", NO_SUCH_BATCH)
    if batch.worker_id != worker_id:
        raise RefusedError("not_yours", NOT_YOURS)
    return RaterSession(
        batch_id=batch.pk,
        assignment_id=batch.assignment_id,
        participation_id=batch.assignment.participation_id,
        study_code=batch.study.code,
        asks={ask.number: ask for ask in asks_of_readers(batch.study)},
        markdown=batch.study.markdown,
        shows_reading=plan_of(batch.study).shows_reading,
        has_pictures=sources.are_there_pictures(),
    )


JUDGE = BatchedStep(
    "judging_judge",
    {
        "batch": "bigint", "key": "uuid", "ask": "bigint", "questions": "text", "answers": "jsonb",
        "shown_ms": "integer", "answer_ms": "integer", "ahead": "integer", "compared": "text[]",
    },
)  # fmt: skip


async def judge_batched(
    session: RaterSession, *, key: UUID, answers: Mapping[str, object], timing: Timing = NO_TIMING
) -> SavedJudgment:
    """Like `judge`, but in one commit with others of this moment; see live/sockets/batches.py.

    Raises:
        RefusedError: as `judge`.
    """
    ask, checked = _checked(session, key, answers)
    if question_set(ask.question_set).free_texts:
        await in_database(_refuse_without_reason, session, key, ask, checked)
    row = await JUDGE.row(**_step(session, key, ask, checked, timing))
    judged = _judged(row, checked)
    if not (session.shows_reading or session.has_pictures):
        return judged
    return replace(judged, leased=await in_database(_complete, session, judged.leased))


def judge(
    session: RaterSession, *, key: UUID, answers: Mapping[str, object], timing: Timing = NO_TIMING
) -> SavedJudgment:
    """Save or change the worker's judgment of an item, and lease the next items. Safe to repeat.

    Raises:
        RefusedError: the answers do not fit the questions, the batch is finished, or the lease expired and
            the item went to another worker; nothing was saved.
    """
    ask, checked = _checked(session, key, answers)
    _refuse_without_reason(session, key, ask, checked)
    judged = _judged(JUDGE.row_alone(**_step(session, key, ask, checked, timing)), checked)
    return replace(judged, leased=_complete(session, judged.leased))


def _checked(
    session: RaterSession, key: UUID, answers: Mapping[str, object]
) -> tuple[Ask, dict[str, Answer]]:
    ask = session.ask_of(key)
    try:
        return ask, question_set(ask.question_set).check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, describe_answers_error(error)) from error


def _step(
    session: RaterSession, key: UUID, ask: Ask, checked: Mapping[str, Answer], timing: Timing
) -> Values:
    return {
        "batch": session.batch_id,
        "key": str(key),
        "ask": ask.pk,
        "questions": ask.question_set,
        "answers": checked,
        **timing._asdict(),
        "ahead": LEASED_AHEAD,
        "compared": comparable_questions(question_set(ask.question_set)),
    }


def _judged(row: Row | None, checked: dict[str, Answer]) -> SavedJudgment:
    assert row, "judging_judge always returns a result"
    result = json.loads(row[0])
    if result["outcome"] != "saved":
        raise RefusedError(result["outcome"], REFUSALS[result["outcome"]])
    return SavedJudgment(checked, result["leased"], _progress(result["done"], result["size"], result["held"]))


def _refuse_without_reason(session: RaterSession, key: UUID, ask: Ask, answers: Mapping[str, Answer]) -> None:
    """Check that cards of a battery have free text exactly where a reason is asked.

    Raises:
        RefusedError: the reason is missing, or none was asked for.
    """
    free = question_set(ask.question_set).free_texts
    if not free:
        return
    card = Slot.objects.filter(batch=session.batch_id, key=key).exclude(deck=None)
    asks = card.values_list("asks_reason", flat=True).first()
    given = [name for name in free if answers.get(name)]
    if asks and len(given) < len(free):
        raise RefusedError("no_reason", REFUSALS["no_reason"])
    if asks is False and given:
        raise RefusedError("reason_not_asked", REFUSALS["reason_not_asked"])


# Open items of the current ask come before those of the next one.
_STATE = """
SELECT jsonb_build_object(
    'done', b.done, 'size', b.size, 'finished', a.outcome <> '',
    'held', (SELECT coalesce(jsonb_agg(judging_shown_in(s.id)
                                       ORDER BY s.position, get_byte(uuid_send(s.key), 0)
                                                            = get_byte(uuid_send(b.cursor), 0), s.key), '[]')
                FROM judging_slot AS s WHERE s.batch_id = b.id AND s.label_id IS NULL),
    'judged', (SELECT coalesce(jsonb_agg(judging_shown_in(r.id)
                                         || jsonb_build_object('answers', r.answers)
                                         ORDER BY r.created_at), '[]')
                 FROM (SELECT s.id, l.answers, l.created_at
                         FROM judging_slot AS s JOIN labels_label AS l ON l.id = s.label_id
                        WHERE s.batch_id = b.id ORDER BY l.created_at DESC LIMIT %s) AS r))
  FROM judging_batch AS b JOIN crowd_assignment AS a ON a.id = b.assignment_id
 WHERE b.id = %s
"""


def state(session: RaterSession) -> dict[str, Any]:
    """Content of the judging page: leased items, recently judged items, and progress."""
    if Assignment.objects.filter(pk=session.assignment_id, outcome="").exists():
        _lease(session.batch_id, LEASED_AHEAD)
    found = _json_value(_STATE, [MOST_REVIEWABLE, session.batch_id])
    progress = _progress(found["done"], found["size"], len(found["held"]))
    return {
        "items": _complete(session, found["held"]),
        "judged": _complete(session, found["judged"]),
        "progress": progress,
        "is_over": found["finished"],
    }


def _complete(session: RaterSession, items: list[ShownItem]) -> list[ShownItem]:
    """The items with their pictures, and with their reading if the study shows it."""
    if session.has_pictures and items:
        items = sources.with_pictures(session.batch_id, session.participation_id, items)
    return _with_reading(session, items)


def _with_reading(session: RaterSession, items: list[ShownItem]) -> list[ShownItem]:
    """The items with their reading, if the study shows it."""
    if not session.shows_reading or not items:
        return items
    found = reading_of_slots(session.batch_id, [item["key"] for item in items])
    return [item | {"reading": found.get(item["key"], [])} for item in items]


@transaction.atomic
def finish(session: RaterSession, *, now: datetime | None = None) -> None:
    """End the batch, which makes the worker's completion code valid. Safe to repeat.

    If nothing is left to judge, a batch may finish with fewer items and is paid in full.

    Raises:
        RefusedError: there are items left to judge.
    """
    batch = Batch.objects.select_for_update().select_related("assignment").get(pk=session.batch_id)
    if batch.assignment.outcome:
        return
    if batch.done < batch.size:
        _lease(batch.pk, 1)
        if batch.slots.filter(label=None).exists():
            raise RefusedError("unjudged", REFUSALS["unjudged"])
    complete(batch.assignment_id, Outcome.COMPLETE, now=now or timezone.now())


def _progress(done: int, size: int, held: int) -> dict[str, object]:
    return {"done": done, "size": size, "may_finish": done >= size or not held}


def _lease(batch_id: int, ahead: int) -> int:
    """Lease this many items for the batch, and return the number of new ones."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT judging_lease(%s, %s, 0)", [batch_id, ahead])
        return int(cursor.rowcount)


def _deal(batch_id: int) -> int:
    """Give the batch a whole deck, and return its number of items; 0 if none is left for the worker."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT judging_deal(%s)", [batch_id])
        row = cursor.fetchone()
    assert row
    return int(row[0])


def _json_value(statement: str, parameters: list[Any]) -> dict[str, Any]:
    """The single JSON value that a statement returns."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    assert row
    found: dict[str, Any] = json.loads(row[0])
    return found
