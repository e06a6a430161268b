"""Every write of the labelling queue: a worker begins, judges item by item, and finishes.

The steps that many workers take at once are functions in the database (judging/sql,
docs/decisions/slots-and-leases.md); what they judge at the same moment is one commit (live/batches.py).
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
from turnwise.judging.batteries.batch_allocation import compared
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.models import Batch, Item, JudgingPlan, Slot
from turnwise.judging.queries import left_over
from turnwise.judging.queue import training
from turnwise.judging.queue.rater_session import REFUSALS, Desk, Judged, Shown, read_in_slots
from turnwise.labels.services import NO_TIMING, Timing
from turnwise.live.batches import BatchedStep, Values
from turnwise.live.database import Row, in_database
from turnwise.live.frames import RefusedError
from turnwise.questions.question_sets import question_set, why_not_taken
from turnwise.studies.models import Ask, Study
from turnwise.studies.presets import preset_of

# What a page holds: the item that the worker reads, and the next ones, so that there is no wait.
AHEAD = 3
# Judged items that a page which is opened anew can go back to.
LOOKING_BACK = 20

NO_SUCH_BATCH = _("There is no such task. Open your study link again.")
NOT_YOURS = _("This task belongs to someone else. Open your own study link again.")


@transaction.atomic
def begin(participation: Participation, *, language: str, now: datetime | None = None) -> Batch:
    """Give the worker a batch and its first items. Safe to repeat: an existing batch is returned.

    Raises:
        EntryRefusedError: the study is not open, or nothing is left that this worker could judge.
    """
    if training.is_due(participation):
        raise training.not_passed()
    assignment = admit(participation.pk, now=now)
    existing = Batch.objects.filter(assignment=assignment).first()
    if existing:
        return existing
    study = participation.study
    plan = plan_of(study)
    gold_at = _gold_at(plan, language)
    batch = Batch.objects.create(
        assignment=assignment,
        study=study,
        worker_id=participation.worker_id,
        language=language,
        size=plan.batch_size + len(gold_at),
        gold_at=gold_at,
        cursor=_begins_at(study, language),
    )
    got = _deal(batch.pk) if battery_of(study) else _lease(batch.pk, AHEAD)
    if not got:
        raise refusals.full(may_become_free=_is_held(batch, now or timezone.now()))
    return batch


def _gold_at(plan: JudgingPlan, language: str) -> list[int]:
    """Where in a new batch a gold item comes: at random positions, but never before all others.

    The batch has so many more items, so that no other is left out for it.
    """
    if not plan.gold_items or battery_of(plan.study):
        return []
    there = Item.objects.filter(study=plan.study_id, language=language, right_answers__isnull=False).count()
    wanted = min(plan.gold_items, there)
    return sorted(random.SystemRandom().sample(range(2, plan.batch_size + wanted + 1), wanted))


# What is still wanted of each ask, by the first byte of the keys.
_OPEN = """
SELECT get_byte(uuid_send(key), 0), count(*) FROM judging_slot
 WHERE study_id = %s AND language = %s AND label_id IS NULL AND deck IS NULL AND NOT is_gold GROUP BY 1
"""


def _begins_at(study: Study, language: str) -> UUID:
    """Behind which key a new batch looks for its first item: at the keys of an ask that is drawn.

    Each ask is drawn as often as its share of all that is still wanted, so that none waits until all others
    are done, and people who come at the same moment do not all begin at the same one.
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
    """Whether others hold items in the worker's language that may become free within an hour."""
    unjudged = Slot.objects.filter(study=batch.study_id, language=batch.language, label=None, is_gold=False)
    unjudged = unjudged.exclude(pk__in=left_over())
    return unjudged.filter(leased_until__range=(now, now + HOLD)).exists()


def is_judged(study: Study, now: datetime) -> bool:
    """Whether all that is wanted is judged, or held by somebody who is at it."""
    unjudged = Slot.objects.filter(study=study, label=None, is_gold=False).exclude(pk__in=left_over())
    if unjudged.filter(Q(leased_until=None) | Q(leased_until__lt=now)).exists():
        return False
    crowding = Func(F("pk"), Value(now), function="judging_crowding", output_field=BooleanField())
    idle = Batch.objects.filter(Exists(unjudged.filter(batch=OuterRef("pk"))), study=study, done=0)
    return not idle.filter(crowding).exists()


def judge_again(study: Study) -> None:
    """Have others judge what the people of the study's pilot judged, in the caller's transaction.

    What they still judge after it does the same (judging/sql/save.sql).
    """
    with connection.cursor() as cursor:
        cursor.execute(_AGAIN, [study.pk])


# Of a deck once: it is made again as a whole.
_AGAIN = """
SELECT judging_again(of_pilot.id)
  FROM (SELECT max(s.id) AS id
          FROM judging_slot AS s
          JOIN judging_batch AS b ON b.id = s.batch_id
          JOIN crowd_assignment AS a ON a.id = b.assignment_id
          JOIN crowd_participation AS p ON p.id = a.participation_id
         WHERE b.study_id = %s AND p.pilot AND s.label_id IS NOT NULL
         GROUP BY coalesce(s.deck, -s.id)) AS of_pilot
"""


def plan_of(study: Study) -> JudgingPlan:
    """The study's plan, made as the paper of its protocol did if there is none."""
    plan, _is_new = JudgingPlan.objects.get_or_create(study=study, defaults=preset_of(study).plan)
    plan.study = study
    return plan


def desk_of(public_id: UUID, worker_id: int) -> Desk:
    """The worker's place with this batch.

    Raises:
        RefusedError: there is no such batch, or it is another worker's.
    """
    batch = Batch.objects.select_related("study", "assignment").filter(public_id=public_id).first()
    if batch is None:
        raise RefusedError("unknown_dialogue", NO_SUCH_BATCH)
    if batch.worker_id != worker_id:
        raise RefusedError("not_yours", NOT_YOURS)
    return Desk(
        batch_id=batch.pk,
        assignment_id=batch.assignment_id,
        participation_id=batch.assignment.participation_id,
        study_code=batch.study.code,
        asks={ask.number: ask for ask in asks_of_readers(batch.study)},
        markdown=batch.study.markdown,
        shows_reading=plan_of(batch.study).shows_reading,
    )


JUDGE = BatchedStep(
    "judging_judge",
    {
        "batch": "bigint", "key": "uuid", "ask": "bigint", "questions": "text", "answers": "jsonb",
        "shown_ms": "integer", "answer_ms": "integer", "ahead": "integer", "compared": "text[]",
    },
)  # fmt: skip


async def judge_among_others(
    desk: Desk, *, key: UUID, answers: Mapping[str, object], timing: Timing = NO_TIMING
) -> Judged:
    """As `judge`, but committed together with what others judge at this moment; see live/batches.py.

    Raises:
        RefusedError: as for `judge`.
    """
    ask, checked = _checked(desk, key, answers)
    if question_set(ask.question_set).free_texts:
        await in_database(_refuse_without_reason, desk, key, ask, checked)
    row = await JUDGE.row(**_step(desk, key, ask, checked, timing))
    judged = _judged(row, checked)
    if not desk.shows_reading:
        return judged
    return replace(judged, leased=await in_database(_with_reading, desk, judged.leased))


def judge(desk: Desk, *, key: UUID, answers: Mapping[str, object], timing: Timing = NO_TIMING) -> Judged:
    """Save the worker's judgment of an item, or change it, and lease the next. Safe to repeat.

    Raises:
        RefusedError: the answers do not fit the questions, the batch is finished, or the item went to
            somebody else because the lease was over; nothing was saved.
    """
    ask, checked = _checked(desk, key, answers)
    _refuse_without_reason(desk, key, ask, checked)
    judged = _judged(JUDGE.row_alone(**_step(desk, key, ask, checked, timing)), checked)
    return replace(judged, leased=_with_reading(desk, judged.leased))


def _checked(desk: Desk, key: UUID, answers: Mapping[str, object]) -> tuple[Ask, dict[str, Answer]]:
    ask = desk.ask_of(key)
    try:
        return ask, question_set(ask.question_set).check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, why_not_taken(error)) from error


def _step(desk: Desk, key: UUID, ask: Ask, checked: Mapping[str, Answer], timing: Timing) -> Values:
    return {
        "batch": desk.batch_id,
        "key": str(key),
        "ask": ask.pk,
        "questions": ask.question_set,
        "answers": checked,
        **timing._asdict(),
        "ahead": AHEAD,
        "compared": compared(question_set(ask.question_set)),
    }


def _judged(row: Row | None, checked: dict[str, Answer]) -> Judged:
    assert row, "judging_judge always says what came of it"
    found = json.loads(row[0])
    if found["outcome"] != "saved":
        raise RefusedError(found["outcome"], REFUSALS[found["outcome"]])
    return Judged(checked, found["leased"], _progress(found["done"], found["size"], found["held"]))


def _refuse_without_reason(desk: Desk, key: UUID, ask: Ask, answers: Mapping[str, Answer]) -> None:
    """Of a battery, free text is answered where a reason is asked, and nowhere else.

    Raises:
        RefusedError: it is missing, or nobody asked for it.
    """
    free = question_set(ask.question_set).free_texts
    if not free:
        return
    card = Slot.objects.filter(batch=desk.batch_id, key=key).exclude(deck=None)
    asks = card.values_list("asks_reason", flat=True).first()
    given = [name for name in free if answers.get(name)]
    if asks and len(given) < len(free):
        raise RefusedError("no_reason", REFUSALS["no_reason"])
    if asks is False and given:
        raise RefusedError("reason_not_asked", REFUSALS["reason_not_asked"])


# What is left of an ask comes before what it goes on with.
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


def state(desk: Desk) -> dict[str, Any]:
    """All that a page shows: the items before the worker, those just judged, and how far the batch is."""
    if Assignment.objects.filter(pk=desk.assignment_id, outcome="").exists():
        _lease(desk.batch_id, AHEAD)
    found = _one(_STATE, [LOOKING_BACK, desk.batch_id])
    progress = _progress(found["done"], found["size"], len(found["held"]))
    return {
        "items": _with_reading(desk, found["held"]),
        "judged": _with_reading(desk, found["judged"]),
        "progress": progress,
        "is_over": found["finished"],
    }


def _with_reading(desk: Desk, items: list[Shown]) -> list[Shown]:
    """The items, with what is read beside them if the study shows that."""
    if not desk.shows_reading or not items:
        return items
    found = read_in_slots(desk.batch_id, [item["key"] for item in items])
    return [item | {"reading": found.get(item["key"], [])} for item in items]


@transaction.atomic
def finish(desk: Desk, *, now: datetime | None = None) -> None:
    """End the batch; the worker's completion code becomes valid. Safe to repeat.

    A batch for which nothing is left is finished with fewer items, and paid in full.

    Raises:
        RefusedError: an item waits to be judged.
    """
    batch = Batch.objects.select_for_update().select_related("assignment").get(pk=desk.batch_id)
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
    """Hold so many items for the batch; how many are new to it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT judging_lease(%s, %s, 0)", [batch_id, ahead])
        return int(cursor.rowcount)


def _deal(batch_id: int) -> int:
    """Give the batch a whole deck; how many items that are, 0 if none is left for its worker."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT judging_deal(%s)", [batch_id])
        row = cursor.fetchone()
    assert row
    return int(row[0])


def _one(statement: str, parameters: list[Any]) -> dict[str, Any]:
    """The only value of a statement that gives one JSON object."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    assert row
    found: dict[str, Any] = json.loads(row[0])
    return found
