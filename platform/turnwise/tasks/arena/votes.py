"""Votes: saving the answers about both sides of a battle, and ending battles.

A vote is stored as the judgment of a pair by a rater who reads: an item of the pair of both conversations,
with one slot that the worker's label fills. The first side of the pair is the one on the left. Where workers
vote after each message, each vote is about a pair of its own: both conversations up to these replies.
"""

from datetime import datetime
from typing import Any

from django.db import connection, transaction
from django.utils import timezone
from django.utils.text import Truncator
from django.utils.translation import get_language

from evaluation.questions import AnswersError, QuestionSet
from turnwise.crowd.models import Outcome
from turnwise.dialogues import services
from turnwise.dialogues.models import Battle, Dialogue
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.models import Batch, Item, Slot
from turnwise.labels.models import Label, Pair
from turnwise.labels.services import Timing
from turnwise.live.frames import RefusedError
from turnwise.questions.question_sets import ENGLISH, describe_answers_error, in_language, question_set
from turnwise.studies.asks import Party
from turnwise.studies.models import Ask
from turnwise.tasks.arena.battles import ArenaContext, OpenBattle, lock_batch, open_battle, refusal
from turnwise.tasks.arena.both_sides import TURNS_OF_EXCHANGE, Sides, read_sides, votes_in, votes_key


@transaction.atomic
def vote(
    context: ArenaContext,
    number: int,
    exchange: int,
    ask_number: int,
    answers: dict[str, Any],
    timing: Timing,
    *,
    now: datetime | None = None,
) -> None:
    """Save the answers to one ask about the battle with this number, as it is after so many exchanges.

    The last ask ends the battle, unless workers vote after each message and can go on. The same answers again
    change nothing, as when a frame is sent twice.

    Raises:
        RefusedError: other answers are stored already, a bot has still to answer, the conversation is too
            short or over or has gone on, there is no such ask, or the answers do not fit its questions;
            nothing was saved.
    """
    batch, now = lock_batch(context), now or timezone.now()
    ask = next((each for each in asks_of_readers(batch.study) if each.number == ask_number), None)
    battle = Battle.objects.filter(assignment=context.assignment_id, number=number).first()
    if ask is None or battle is None:
        raise RefusedError("no_such_ask")
    questions = question_set(ask.question_set)
    try:
        checked = questions.check(answers)
    except AnswersError as error:
        raise RefusedError(error.code, describe_answers_error(error)) from error
    stored = votes_in(battle, context.study_id).get(votes_key(context, exchange), {}).get(ask_number)
    if stored is not None:
        if stored != checked:
            raise _refusal_of_second_vote(questions, stored)
        return
    found = open_battle(context, number)
    if found is None:
        raise refusal("battle_over")
    _refuse_early(read_sides(context, found), exchange)
    _store(batch, _pair_of(context, battle, exchange), ask, checked, timing, now)
    _close(batch, context, found, now)


def _refuse_early(sides: Sides, exchange: int) -> None:
    if obstacle := sides.why_not_vote():
        raise refusal(obstacle) if obstacle == "vote_early" else RefusedError(obstacle)
    if exchange != sides.exchanges:
        raise refusal("moved_on")


def _close(batch: Batch, context: ArenaContext, found: OpenBattle, now: datetime) -> None:
    """End the battle if the last vote has been given; else let nothing change between its questions."""
    sides, ids = read_sides(context, found), [found.battle.left_id, found.battle.right_id]
    if sides.is_voted and not (context.votes_each and not sides.why_not_send()):
        _end(batch, ids, Dialogue.Ending.COMPLETE, now)
    elif not context.votes_each:
        Dialogue.objects.filter(pk__in=ids).update(closing=True)


@transaction.atomic
def begin_anew(context: ArenaContext, number: int, *, now: datetime | None = None) -> None:
    """End a battle that has its votes, so that the next one begins. Idempotent.

    Raises:
        RefusedError: there is still something to vote on, or a bot has still to answer.
    """
    batch, found = lock_batch(context), open_battle(context, number)
    if found is None:
        return
    if not read_sides(context, found).may_begin_anew:
        raise refusal("unvoted")
    ids = [found.battle.left_id, found.battle.right_id]
    _end(batch, ids, Dialogue.Ending.COMPLETE, now or timezone.now())


def _pair_of(context: ArenaContext, battle: Battle, exchange: int) -> Pair:
    turns = TURNS_OF_EXCHANGE * exchange if context.votes_each else None
    pair, _new = Pair.objects.get_or_create(
        first_dialogue_id=battle.left_id, second_dialogue_id=battle.right_id, turns=turns
    )
    return pair


def _refusal_of_second_vote(questions: QuestionSet, stored: dict[str, Any]) -> RefusedError:
    """Refusal that names the stored answers in the language of the worker."""
    shown = in_language(questions, get_language() or ENGLISH)
    captions = [
        question.caption_of(stored[question.key]) for question in shown.questions if question.key in stored
    ]
    says = refusal("voted_otherwise").say
    return RefusedError("voted_otherwise", says % {"vote": Truncator("; ".join(captions)).chars(120)})


def _store(
    batch: Batch, pair: Pair, ask: Ask, answers: dict[str, Any], timing: Timing, now: datetime
) -> None:
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

    Earlier votes stay. Without any, the battle counts for nothing in the report.

    Raises:
        RefusedError: no reply is due, or the bots have not failed often enough.
    """
    batch = lock_batch(context)
    found = open_battle(context, number)
    if found is None:
        return
    sides = read_sides(context, found)
    enough = services.faults_before_giving_up(found.seats[0])
    if not any(progress.reply_due and faults >= enough for _turns, progress, faults in sides.both):
        raise RefusedError("may_not_give_up")
    ids = [found.battle.left_id, found.battle.right_id]
    ending = Dialogue.Ending.COMPLETE if sides.votes else Dialogue.Ending.BOT_FAILED
    _end(batch, ids, ending, now or timezone.now())


def _end(batch: Batch, sides: list[int], ending: Dialogue.Ending, now: datetime) -> None:
    for dialogue in Dialogue.objects.select_for_update().filter(pk__in=sides).order_by("pk"):
        services.end(dialogue, ending, Outcome.COMPLETE, now)
    batch.done += 1
    batch.save(update_fields=["done"])
