"""Every write to a conversation. One exchange is two steps: open it, close it; or one if the bot is quick.

Each step is a function of the database (sql/). It moves the dialogue's own row on
only if the protocol allows it, and inserts the turn. PostgreSQL evaluates the condition again once it
holds the row, so of two frames that race for the same position one wins and the other is told why
(`_explain`). Times are PostgreSQL's, taken once the row is held, so that they stand in the order of what
happened. Steps that wait at the same moment share a commit. See docs/decisions/one-statement-per-turn.md
and turns-in-batches.md.
"""

import random
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chatbots.base import Context
from evaluation.texts.cleaning import cleaned
from turnwise.accounts.models import User
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.crowd import refusals
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.ending import complete
from turnwise.dialogues import operator_replies, reading_material
from turnwise.dialogues.models import Dialogue, Fault, Seat, Turn
from turnwise.dialogues.progress import Progress, SeatAsk, due_at_the_end
from turnwise.dialogues.queries import context_of, faults_at, progress_of, progress_of_row, saved_turn
from turnwise.dialogues.seat_context import SavedTurn, Seated
from turnwise.knowledge.reading_sets import pasted
from turnwise.live.batches import BatchedStep, Values
from turnwise.live.database import in_database
from turnwise.live.frames import MAX_TEXT, RefusedError
from turnwise.studies.asks import About, By, Moment
from turnwise.studies.models import Speaker as Opener
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed

# After this many failed replies in a row the worker may end the conversation and is paid in full. An operator
# was waited for before, so once is enough.
FAULTS_BEFORE_GIVING_UP = 3
FAULTS_OF_OPERATOR = 1


@dataclass(frozen=True, slots=True)
class Exchange:
    """A committed human turn with the context that the bot is to answer.

    Attributes:
        human_turn: the message.
        context: what the bot is to answer.
        progress: of the conversation with the message as its last turn; later if the message was sent again.
        reply: the bot's turn, if that is saved, and the progress after it.
        partners: progress as the person opposite has it, if the turn is new to them.
    """

    human_turn: SavedTurn
    context: Context
    progress: Progress
    reply: tuple[SavedTurn, Progress] | None = None
    partners: Progress | None = None


@transaction.atomic
def begin(assignment: Assignment, *, now: datetime | None = None) -> Dialogue:
    """Start the assignment's conversation with its bot, with its scripted opening. Safe to repeat.

    Raises:
        EntryRefusedError: the work has ended meanwhile, as by a withdrawal.
    """
    locked = Assignment.objects.select_for_update().get(pk=assignment.pk)
    existing = Dialogue.objects.filter(seats__assignment=assignment).first()
    if existing:
        return existing
    if locked.outcome:
        raise refusals.ended()
    study = assignment.participation.study
    worker_seat = 1 if study.opening_speaker == Opener.BOT else 0
    now, bot = now or timezone.now(), bot_of(assignment)
    operator = operator_replies.least_busy(bot, now=now) if bot.is_operated else None
    taken = {worker_seat: Taken(assignment=assignment), 1 - worker_seat: Taken(bot=bot, operator=operator)}
    return seat_two(study, taken[0], taken[1], now=now)


@dataclass(frozen=True, slots=True)
class Taken:
    """Who takes a seat: the worker of an assignment, or a bot, in whose place an operator may answer."""

    assignment: Assignment | None = None
    bot: Bot | None = None
    operator: User | None = None


@transaction.atomic
def seat_two(study: Study, first: Taken, second: Taken, *, now: datetime) -> Dialogue:
    """Begin a conversation of these two by the study's protocol; the first speaks first."""
    opening = study.opening_text
    asks = [asks_of_study(study, of_worker=bool(taken.assignment)) for taken in (first, second)]
    dialogue = Dialogue.objects.create(
        study=study,
        started_at=now,
        language=study.only_language,
        opening_turns=1 if opening else 0,
        turns=1 if opening else 0,
        min_turns=study.min_turns,
        max_turns=study.max_turns,
        due_0=due_at_the_end(asks[0]),
        due_1=due_at_the_end(asks[1]),
    )
    seats = Seat.objects.bulk_create(
        Seat(
            dialogue=dialogue,
            number=number,
            assignment=taken.assignment,
            worker_id=taken.assignment.participation.worker_id if taken.assignment else None,
            bot=taken.bot,
            operator=taken.operator,
            asks=[ask.as_json() for ask in asks[number]],
        )
        for number, taken in enumerate((first, second))
    )
    own = pasted(study.material) if study.material else []
    if study.knowledge_id:
        sets = reading_material.given(dialogue, study.knowledge_id, seed=random.getrandbits(31))
    else:
        sets = [], []
    for seat in seats:
        reads = seat.assignment_id or study.bots_read
        reading_material.give(seat, [*sets[seat.number], *own] if reads else [])
    if opening:
        Turn.objects.create(dialogue=dialogue, position=0, text=opening, created_at=now)
    return dialogue


def asks_of_study(study: Study, *, of_worker: bool) -> list[SeatAsk]:
    """What a worker who talks in this study is asked; a bot is asked nothing."""
    if not of_worker:
        return []
    talkers = [ask for ask in study.asked if ask.by == By.TALKERS]
    return [
        SeatAsk(ask.pk, ask.number, ask.question_set, About(ask.about), Moment(ask.moment), ask.required)
        for ask in talkers
    ]


def bot_of(assignment: Assignment) -> Bot:
    """The bot that the worker is to talk with."""
    if assignment.study_bot is None:
        raise ValueError(f"Assignment {assignment.pk} is not a conversation with a bot: it has none.")
    return assignment.study_bot.bot


_DUE = {"due_0": "integer[]", "due_1": "integer[]"}
# What is stored of a reply beside its text; the last parameters of both steps that save one.
_REPLY = {
    "version": "bigint",
    "latency": "integer",
    "seed": "bigint",
    "candidates": "jsonb",
    "remarks": "jsonb",
}
SAY = BatchedStep(
    "dialogues_say",
    {"dialogue": "bigint", "seat": "integer", "room": "integer", "text": "text", "key": "uuid", **_DUE},
)
REPLY = BatchedStep(
    "dialogues_reply", {"dialogue": "bigint", "position": "integer", "text": "text", **_DUE, **_REPLY}
)
SAY_AND_REPLY = BatchedStep(
    "dialogues_say_and_reply",
    {
        "dialogue": "bigint", "position": "integer", "text": "text", "key": "uuid", "reply": "text",
        **_DUE, **_REPLY,
    },
)  # fmt: skip


async def take_exchange(seat: Seated, context: Context, *, key: UUID, reply: Reply) -> Exchange | None:
    """Save what the worker wrote and the bot's reply to it, both or neither.

    The message is the last turn of `context`, and `key` is that of none before it. Returns None, with
    nothing saved, if the protocol does not allow a message now or those turns are not all that was said.
    """
    position, text = len(context.turns) - 1, context.turns[-1].text
    row = await SAY_AND_REPLY.row(
        dialogue=seat.dialogue_id,
        position=position,
        text=text,
        key=str(key),
        **seat.due_with_exchange(position),
        **_stored(reply, "reply"),
    )
    if row is None:
        return None
    _at, turns, due_0, due_1 = row
    after = seat.progress(turns=turns, due_0=due_0, due_1=due_1)
    # As if the reply were still to come: the page must not see that this bot takes one step and others two.
    before = replace(after, turns=turns - 1, due=seat.due_before_reply(after.due, position + 1))
    replied = _bot_turn(position + 1, reply), after
    return Exchange(_human_turn(seat, position, text, key), context, before, replied)


async def open_exchange(seat: Seated, *, text: str, key: UUID) -> Exchange:
    """Save what the worker wrote, once per key, and say what the bot is to answer.

    Raises:
        RefusedError: the protocol does not allow a message now, or the key was used with another text.
    """
    row = await SAY.row(
        dialogue=seat.dialogue_id,
        seat=seat.number,
        room=seat.room,
        text=text,
        key=str(key),
        **seat.due_with_own,
    )
    if row is None:
        return await in_database(_explain, seat, text=text, key=key)
    _at, turns, due_0, due_1, earlier = row
    position = turns - 1
    progress = seat.progress(turns=turns, due_0=due_0, due_1=due_1)
    human_turn = _human_turn(seat, position, text, key)
    partners = None
    if seat.bot_id is None:
        partners = seat.partners_progress(turns=turns, due_0=due_0, due_1=due_1)
    return Exchange(human_turn, context_of(seat, [*earlier, text]), progress, partners=partners)


def checked_text(text: str) -> str:
    """What is saved of a message.

    Raises:
        RefusedError: nothing is left of it, or it is too long.
    """
    text = cleaned(text, MAX_TEXT + 1)
    if not text:
        raise RefusedError("empty")
    if len(text) > MAX_TEXT:
        raise RefusedError("too_long")
    return text


def _explain(seat: Seated, *, text: str, key: UUID) -> Exchange:
    """The message was not saved: because it already is, or because the protocol forbids it now."""
    stored = Turn.objects.filter(dialogue_id=seat.dialogue_id, key=key).first()
    progress = progress_of(seat)
    if stored is None:
        raise RefusedError(progress.why_not_send() or "not_your_turn")
    if stored.text != text:
        raise RefusedError("key_reused")
    turns = list(Turn.objects.filter(dialogue_id=seat.dialogue_id, position__lte=stored.position + 1))
    reply = turns[-1] if turns[-1].position > stored.position else None
    context = context_of(seat, [turn.text for turn in turns if turn.position <= stored.position])
    replied = (saved_turn(seat, reply), progress) if reply else None
    return Exchange(saved_turn(seat, stored), context, progress, replied)


async def close_exchange(seat: Seated, *, position: int, reply: Reply) -> tuple[SavedTurn, Progress]:
    """Save the bot's reply at `position`. If one is there already, that first reply stays.

    Raises:
        RefusedError: the conversation ended meanwhile; the reply is dropped.
    """
    row = await REPLY.row(
        dialogue=seat.dialogue_id,
        position=position,
        **seat.due_with_reply(position),
        **_stored(reply, "text"),
    )
    if row is None:
        return await in_database(_first_reply, seat, position)
    _at, turns, due_0, due_1 = row
    progress = seat.progress(turns=turns, due_0=due_0, due_1=due_1)
    return _bot_turn(position, reply), progress


def _stored(reply: Reply, text: str) -> Values:
    """What is stored about a reply, by parameter; `text` names that of its text."""
    return {
        text: reply.response.text,
        "version": reply.version_id,
        "latency": reply.latency_ms,
        "seed": reply.seed,
        "candidates": reply.candidates or None,
        "remarks": reply.remarks,
    }


def _human_turn(seat: Seated, position: int, text: str, key: UUID) -> SavedTurn:
    return SavedTurn(position, "human", text, position >= seat.opening_turns, str(key))


def _bot_turn(position: int, reply: Reply) -> SavedTurn:
    return SavedTurn(position, "bot", reply.response.text, True, None)


def _first_reply(seat: Seated, position: int) -> tuple[SavedTurn, Progress]:
    stored = Turn.objects.filter(dialogue_id=seat.dialogue_id, position=position).first()
    if stored is None:
        raise RefusedError("ended")
    return saved_turn(seat, stored), progress_of(seat)


def record_fault(seat: Seated, *, position: int, kind: str, detail: str, now: datetime | None = None) -> int:
    """Note that the bot failed to reply at `position`; returns how often it has failed there."""
    Fault.objects.create(
        dialogue_id=seat.dialogue_id,
        position=position,
        kind=kind,
        detail=detail[:2000],
        at=now or timezone.now(),
    )
    return faults_at(seat, position)


@transaction.atomic
def finish(seat: Seated, *, now: datetime | None = None) -> None:
    """End the conversation for this seat. Of two people, the other may still annotate. Safe to repeat.

    Raises:
        RefusedError: too early, a reply is due, or something is not annotated.
    """
    dialogue = _locked(seat)
    if dialogue.ending == Dialogue.Ending.COMPLETE or has_finished(seat):
        return
    obstacle = progress_of_row(seat, dialogue).why_not_finish()
    if obstacle:
        raise RefusedError(obstacle)
    now = now or timezone.now()
    if seat.bot_id is None and not dialogue.closing:
        dialogue.closing = True
        dialogue.save(update_fields=["closing"])
        complete(seat.assignment_id, Outcome.COMPLETE, now=now)
        return
    end(dialogue, Dialogue.Ending.COMPLETE, Outcome.COMPLETE, now)


def _locked(seat: Seated) -> Dialogue:
    """The conversation, locked.

    Raises:
        RefusedError: it was removed, as its worker withdrew.
    """
    dialogue = Dialogue.objects.select_for_update().filter(pk=seat.dialogue_id).first()
    if dialogue is None:
        raise RefusedError("ended")
    return dialogue


def has_finished(seat: Seated) -> bool:
    """Whether this person's part is over, whatever the other still does."""
    return Assignment.objects.filter(pk=seat.assignment_id).exclude(outcome="").exists()


def faults_before_giving_up(seat: Seated) -> int:
    return FAULTS_OF_OPERATOR if seat.is_operated else FAULTS_BEFORE_GIVING_UP


@transaction.atomic
def give_up(seat: Seated, *, now: datetime | None = None) -> None:
    """End the conversation because its bot cannot answer; the worker is paid in full. Safe to repeat.

    Raises:
        RefusedError: no reply is due, or the bot has not failed often enough.
    """
    dialogue = _locked(seat)
    if dialogue.ending == Dialogue.Ending.BOT_FAILED:
        return
    progress = progress_of_row(seat, dialogue)
    if progress.ended:
        raise RefusedError("ended")
    if not progress.reply_due or faults_at(seat, progress.turns) < faults_before_giving_up(seat):
        raise RefusedError("may_not_give_up")
    end(dialogue, Dialogue.Ending.BOT_FAILED, Outcome.BOT_FAILED, now or timezone.now())


def end(dialogue: Dialogue, ending: Dialogue.Ending, outcome: Outcome, now: datetime) -> None:
    """End a conversation, in the caller's transaction, and the work of those in it who are still at it."""
    dialogue.ending = ending
    dialogue.ended_at = now
    dialogue.save(update_fields=["ending", "ended_at"])
    still_at_it = list(dialogue.seats.filter(assignment__outcome="").values_list("assignment", flat=True))
    for assignment in still_at_it:
        complete(assignment, outcome, now=now)
    if not still_at_it:
        results_changed(dialogue.study_id)
