"""Votes: saving the answers about both sides of a battle, and ending battles.

A vote is stored as the judgment of a pair by a rater who reads: an item of the pair of both conversations,
with one slot that the worker's label fills. The first side of the pair is the one on the left.
"""

from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from evaluation.questions import AnswersError
from turnwise.crowd.models import Outcome
from turnwise.dialogues import services
from turnwise.dialogues.models import Dialogue
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.models import Batch, Item, Slot
from turnwise.labels.models import Label, Pair
from turnwise.labels.services import Timing
from turnwise.live.frames import RefusedError
from turnwise.questions.question_sets import describe_answers_error, question_set
from turnwise.studies.asks import Party
from turnwise.studies.models import Ask
from turnwise.tasks.arena.battles import ArenaContext, OpenBattle, lock_batch, open_battle, refusal
from turnwise.tasks.arena.rounds import read_sides, why_not_vote


def votes_in(battle: OpenBattle, study_id: int) -> dict[int, dict[str, Any]]:
    """Saved answers about the battle under way, by the number of their ask."""
    pair = {"pair__first_dialogue": battle.battle.left_id, "pair__second_dialogue": battle.battle.right_id}
    labels = Label.objects.filter(study=study_id, **pair)
    return dict(labels.values_list("ask__number", "answers"))


@transaction.atomic
def vote(
    context: ArenaContext,
    number: int,
    ask_number: int,
    answers: dict[str, Any],
    timing: Timing,
    *,
    now: datetime | None = None,
) -> None:
    """Save the answers to one ask about the battle with this number. The last ask ends the battle.

    A vote about a battle that is over changes nothing, as when a frame is sent again.

    Raises:
        RefusedError: a bot has still to answer, the conversation is too short, there is no such ask, or the
            answers do not fit its questions; nothing was saved.
    """
    batch, now = lock_batch(context), now or timezone.now()
    asks = asks_of_readers(batch.study)
    ask = next((each for each in asks if each.number == ask_number), None)
    if ask is None:
        raise RefusedError("no_such_ask")
    found = open_battle(context, number)
    if found is None:
        return
    if obstacle := why_not_vote(read_sides(found)):
        raise refusal(obstacle) if obstacle == "vote_early" else RefusedError(obstacle)
    given = votes_in(found, context.study_id)
    if ask.number in given:
        return
    try:
        checked = question_set(ask.question_set).check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, describe_answers_error(error)) from error
    _store(batch, found, ask, checked, timing, now)
    sides = [found.battle.left_id, found.battle.right_id]
    if len(given) + 1 == len(asks):
        _end(batch, sides, Dialogue.Ending.COMPLETE, now)
    else:  # what is judged must not change between the questions
        Dialogue.objects.filter(pk__in=sides).update(closing=True)


def _store(
    batch: Batch, found: OpenBattle, ask: Ask, answers: dict[str, Any], timing: Timing, now: datetime
) -> None:
    pair, _new = Pair.objects.get_or_create(
        first_dialogue_id=found.battle.left_id, second_dialogue_id=found.battle.right_id
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT judging_key(%s)", [ask.number])
        (key,) = cursor.fetchone()
    item = Item.objects.create(study=batch.study, ask=ask, pair=pair, key=key, language=batch.language)
    label = Label.objects.create(
        study=batch.study,
        ask=ask,
        pair=pair,
        rater_id=batch.worker_id,
        party=Party.READER,
        question_set=ask.question_set,
        answers=answers,
        shown_ms=timing.shown_ms,
        answer_ms=timing.answer_ms,
        created_at=now,
        changed_at=now,
    )
    Slot.objects.create(
        item=item, number=1, study=batch.study, key=key, language=batch.language, batch=batch, label=label
    )


@transaction.atomic
def give_up(context: ArenaContext, number: int, *, now: datetime | None = None) -> None:
    """End a battle because a bot cannot answer; it counts as done for the worker. Idempotent.

    Raises:
        RefusedError: no reply is due, or the bots have not failed often enough.
    """
    batch = lock_batch(context)
    found = open_battle(context, number)
    if found is None:
        return
    sides = read_sides(found)
    enough = services.faults_before_giving_up(found.seats[0])
    if not any(progress.reply_due and faults >= enough for _turns, progress, faults in sides):
        raise RefusedError("may_not_give_up")
    ids = [found.battle.left_id, found.battle.right_id]
    _end(batch, ids, Dialogue.Ending.BOT_FAILED, now or timezone.now())


def _end(batch: Batch, sides: list[int], ending: Dialogue.Ending, now: datetime) -> None:
    for dialogue in Dialogue.objects.select_for_update().filter(pk__in=sides).order_by("pk"):
        services.end(dialogue, ending, Outcome.COMPLETE, now)
    batch.done += 1
    batch.save(update_fields=["done"])
