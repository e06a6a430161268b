"""Every write to a conversation. An exchange takes two steps, open and close, or one if the bot is quick.

Each step is a database function (sql/). If the protocol allows it, the step updates the dialogue's row and
inserts the turn. PostgreSQL evaluates the condition again once it holds the row, so if two frames race for
the same position, one wins and the other gets the reason. Times are PostgreSQL's, taken once the row is held.
See docs/decisions/one-statement-per-turn.md and turns-in-batches.md.
"""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from chatbots.base import Context
from evaluation.texts.cleaning import cleaned
from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.accounts.models import User
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.crowd import refusals
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.ending import complete
from turnwise.dialogues import operator_replies, pictures, reading_material, scenarios
from turnwise.dialogues.models import Dialogue, Fault, Seat, Turn
from turnwise.dialogues.progress import Progress, SeatAsk, due_at_the_end
from turnwise.dialogues.queries import context_of, count_faults, progress_of, progress_of_row, saved_turn
from turnwise.dialogues.seat_context import SavedTurn, SeatContext
from turnwise.dialogues.turn_steps import REPLY, SAY, SAY_AND_REPLY, SAY_WITH_PICTURE
from turnwise.knowledge.reading_sets import parse_pasted
from turnwise.live.database import in_database
from turnwise.live.frames import RefusedError, too_long
from turnwise.live.sockets.batches import Values
from turnwise.live.traces.spans import traced
from turnwise.studies.asks import About, By, Moment
from turnwise.studies.models import Speaker as Opener
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed

# After this many failed replies in a row the worker may end the conversation with full pay. For an operator
# one is enough, because the worker has already waited for a long time.
FAULTS_BEFORE_GIVING_UP, FAULTS_OF_OPERATOR = 3, 1
LONGEST_WAIT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A committed human turn with the context for the bot's reply.

    Attributes:
        human_turn: the message.
        context: turns that the bot has to answer.
        progress: progress with the message as the last turn; a later one if the message was sent again.
        reply: the bot's turn, if it is saved, and the progress after it.
        partners: the partner's progress, if the turn is new to them.
    """

    human_turn: SavedTurn
    context: Context
    progress: Progress
    reply: tuple[SavedTurn, Progress] | None = None
    partners: Progress | None = None


@transaction.atomic
def begin(assignment: Assignment, *, now: datetime | None = None) -> Dialogue:
    """Begin the assignment's conversation with its bot and the scripted opening. Idempotent.

    Raises:
        EntryRefusedError: the assignment has ended in the meantime, for example by a withdrawal.
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
    occupants = {
        worker_seat: SeatOccupant(assignment=assignment),
        1 - worker_seat: SeatOccupant(bot=bot, operator=operator),
    }
    return create_dialogue(study, occupants[0], occupants[1], now=now)


@dataclass(frozen=True, slots=True)
class SeatOccupant:
    """Occupant of a seat: the worker of an assignment, or a bot, perhaps with an operator."""

    assignment: Assignment | None = None
    bot: Bot | None = None
    operator: User | None = None


@transaction.atomic
def create_dialogue(study: Study, first: SeatOccupant, second: SeatOccupant, *, now: datetime) -> Dialogue:
    """Create a conversation by the study's protocol, with both seats; the first occupant speaks first."""
    opening = study.opening_text
    asks = [asks_of_study(study, of_worker=bool(occupant.assignment)) for occupant in (first, second)]
    person = first.assignment or second.assignment
    condition = person.participation.condition if person else {}
    dialogue = Dialogue.objects.create(
        study=study,
        started_at=now,
        language=study.only_language,
        scenario=scenarios.deal(study, first.bot or second.bot, condition) if person else None,
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
            assignment=occupant.assignment,
            worker_id=occupant.assignment.participation.worker_id if occupant.assignment else None,
            bot=occupant.bot,
            operator=occupant.operator,
            asks=[ask.as_json() for ask in asks[number]],
        )
        for number, occupant in enumerate((first, second))
    )
    pasted_texts = parse_pasted(study.material) if study.material else []
    if study.knowledge_id:
        sets = reading_material.draw_reading_sets(dialogue, study.knowledge_id, seed=random.getrandbits(31))
    else:
        sets = [], []
    for seat in seats:
        reads = seat.assignment_id or study.bots_read
        reading_material.store_material(seat, [*sets[seat.number], *pasted_texts] if reads else [])
    if opening:
        Turn.objects.create(dialogue=dialogue, position=0, text=opening, created_at=now)
    return dialogue


def asks_of_study(study: Study, *, of_worker: bool) -> list[SeatAsk]:
    """Asks of a worker who talks in this study; a bot has none."""
    if not of_worker:
        return []
    talkers = [ask for ask in study.work_asks if ask.by == By.TALKERS]
    return [
        SeatAsk(ask.pk, ask.number, ask.question_set, About(ask.about), Moment(ask.moment), ask.required)
        for ask in talkers
    ]


def bot_of(assignment: Assignment) -> Bot:
    """The bot that the assignment's worker talks with."""
    if assignment.study_bot is None:
        raise ValueError(f"Assignment {assignment.pk} is not a conversation with a bot: it has none.")
    return assignment.study_bot.bot


@traced("save message and reply")
async def save_exchange(seat: SeatContext, context: Context, *, key: str, reply: Reply) -> Exchange | None:
    """Save a message and the bot's reply to it in one step, both or neither.

    The message is the last turn of `context`; `key` is a new UUID in its canonical form. Returns None, with
    nothing saved, if the protocol does not allow a message now or `context` lacks a turn.
    """
    position, text = len(context.turns) - 1, context.turns[-1].text
    reply = reply.within(seat.reply_limit, stores_reasoning=seat.stores_reasoning)
    row = await SAY_AND_REPLY.row(
        dialogue=seat.dialogue_id,
        position=position,
        text=text,
        key=key,
        **seat.due_with_exchange(position),
        **reply_values(reply, "reply"),
    )
    if row is None:
        return None
    _at, turns, due_0, due_1 = row
    after = seat.progress(turns=turns, due_0=due_0, due_1=due_1)
    # Report the progress as if the reply were still missing: the page must not see that one step sufficed.
    before = seat.progress_before(after, position + 1)
    replied = _bot_turn(position + 1, reply), after
    return Exchange(_human_turn(seat, position, text, key), context, before, replied)


@traced("save message")
async def open_exchange(seat: SeatContext, *, text: str, key: UUID, picture: str = "") -> Exchange:
    """Save the worker's message, once per key, and return the context for the bot.

    Args:
        seat: of the worker.
        text: the message, cleaned.
        key: key of the message.
        picture: hash of the picture that the message sends; empty for none.

    Raises:
        RefusedError: the protocol does not allow a message now, the key was used with another text or
            picture, or no such picture was uploaded in this seat.
    """
    step, with_picture = (SAY_WITH_PICTURE, {"picture": picture}) if picture else (SAY, {})
    row = await step.row(
        dialogue=seat.dialogue_id,
        seat=seat.number,
        room=seat.turns_needed,
        text=text,
        key=str(key),
        **seat.due_with_message,
        **with_picture,
    )
    if row is None:
        return await in_database(_explain_refusal, seat, text=text, key=key, picture=picture)
    _at, turns, due_0, due_1, earlier = row
    position = turns - 1
    progress = seat.progress(turns=turns, due_0=due_0, due_1=due_1)
    human_turn = _human_turn(seat, position, text, str(key))
    if picture:
        sent = await in_database(pictures.pictures_of, seat.dialogue_id)
        human_turn = human_turn._replace(picture=sent.get(position))
    partners = None
    if seat.bot_id is None:
        partners = seat.partners_progress(turns=turns, due_0=due_0, due_1=due_1)
    return Exchange(human_turn, context_of(seat, [*earlier, text]), progress, partners=partners)


def checked_text(text: str, limit: int = MAX_MESSAGE_CHARS) -> str:
    """Return the message text, cleaned for storage.

    Raises:
        RefusedError: the cleaned text is empty, or has more than `limit` code points.
    """
    text = cleaned(text, limit + 1)
    if not text:
        raise RefusedError("empty")
    if len(text) > limit:
        raise too_long(limit)
    return text


def _explain_refusal(seat: SeatContext, *, text: str, key: UUID, picture: str) -> Exchange:
    """Return the exchange of a message that is already saved, or raise the reason for refusing it."""
    stored = Turn.objects.filter(dialogue_id=seat.dialogue_id, key=key).first()
    progress = progress_of(seat)
    if stored is None:
        obstacle = progress.why_not_send()
        if not obstacle and picture:
            raise pictures.unknown_picture()
        raise RefusedError(obstacle or "not_your_turn")
    if stored.text != text or not pictures.was_sent_with(seat.dialogue_id, key, picture):
        raise RefusedError("key_reused")
    sent = pictures.pictures_of(seat.dialogue_id) if picture else {}
    turns = list(Turn.objects.filter(dialogue_id=seat.dialogue_id, position__lte=stored.position + 1))
    reply = turns[-1] if turns[-1].position > stored.position else None
    context = context_of(seat, [turn.text for turn in turns if turn.position <= stored.position])
    replied = (saved_turn(seat, reply), progress) if reply else None
    human_turn = saved_turn(seat, stored)._replace(picture=sent.get(stored.position))
    return Exchange(human_turn, context, progress, replied)


@traced("save reply")
async def close_exchange(seat: SeatContext, *, position: int, reply: Reply) -> tuple[SavedTurn, Progress]:
    """Save the bot's reply at `position`. A reply that is already there stays.

    Raises:
        RefusedError: the conversation ended in the meantime; the reply is dropped.
    """
    reply = reply.within(seat.reply_limit, stores_reasoning=seat.stores_reasoning)
    row = await REPLY.row(
        dialogue=seat.dialogue_id,
        position=position,
        **seat.due_with_reply(position),
        **reply_values(reply, "text"),
    )
    if row is None:
        return await in_database(_first_reply, seat, position)
    _at, turns, due_0, due_1 = row
    progress = seat.progress(turns=turns, due_0=due_0, due_1=due_1)
    return _bot_turn(position, reply), progress


def reply_values(reply: Reply, text: str) -> Values:
    """Parameters of a step that saves a reply; `text` is the name of the parameter for its text."""
    return {
        text: reply.response.text,
        "version": reply.version_id,
        "latency": reply.latency_ms,
        "seed": reply.seed,
        "candidates": reply.candidates or None,
        "generation": reply.generation,
    }


def _human_turn(seat: SeatContext, position: int, text: str, key: str) -> SavedTurn:
    return SavedTurn(position, "human", text, position >= seat.opening_turns, key)


def _bot_turn(position: int, reply: Reply) -> SavedTurn:
    return SavedTurn(position, "bot", reply.response.text, True, None)


def _first_reply(seat: SeatContext, position: int) -> tuple[SavedTurn, Progress]:
    stored = Turn.objects.filter(dialogue_id=seat.dialogue_id, position=position).first()
    if stored is None:
        raise RefusedError("ended")
    return saved_turn(seat, stored), progress_of(seat)


def record_fault(
    seat: SeatContext, *, position: int, kind: str, detail: str, now: datetime | None = None
) -> int:
    """Record a failed reply at `position`; returns the number of failures there."""
    Fault.objects.create(
        dialogue_id=seat.dialogue_id,
        position=position,
        kind=kind,
        detail=detail[:2000],
        at=now or timezone.now(),
    )
    return count_faults(seat, position)


@transaction.atomic
def finish(seat: SeatContext, *, now: datetime | None = None) -> None:
    """End the conversation for this seat. A second person may still annotate. Idempotent.

    Raises:
        RefusedError: it is too early, a reply is due, or an annotation is missing.
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


def _locked(seat: SeatContext) -> Dialogue:
    """Lock the conversation and return it.

    Raises:
        RefusedError: it was removed, because its worker withdrew.
    """
    dialogue = Dialogue.objects.select_for_update().filter(pk=seat.dialogue_id).first()
    if dialogue is None:
        raise RefusedError("ended")
    return dialogue


def has_finished(seat: SeatContext) -> bool:
    """True if this person's assignment has ended, even if the partner is still busy."""
    return Assignment.objects.filter(pk=seat.assignment_id).exclude(outcome="").exists()


def faults_before_giving_up(seat: SeatContext) -> int:
    return FAULTS_OF_OPERATOR if seat.is_operated else FAULTS_BEFORE_GIVING_UP


@transaction.atomic
def give_up(seat: SeatContext, *, now: datetime | None = None) -> None:
    """End the conversation because its bot cannot answer; the worker is paid in full. Idempotent.

    Raises:
        RefusedError: no reply is due, or the bot has not failed often enough nor been silent for long.
    """
    dialogue = _locked(seat)
    if dialogue.ending == Dialogue.Ending.BOT_FAILED:
        return
    progress = progress_of_row(seat, dialogue)
    if progress.ended:
        raise RefusedError("ended")
    now = now or timezone.now()
    faults = count_faults(seat, progress.turns)
    asked_at = operator_replies.turn_time(seat.dialogue_id, progress.turns - 1) or now
    is_silent = not faults and now - asked_at >= LONGEST_WAIT
    if not progress.reply_due or not (is_silent or faults >= faults_before_giving_up(seat)):
        raise RefusedError("may_not_give_up")
    end(dialogue, Dialogue.Ending.BOT_FAILED, Outcome.BOT_FAILED, now)


def end(dialogue: Dialogue, ending: Dialogue.Ending, outcome: Outcome, now: datetime) -> None:
    """End a conversation and its open assignments, in the caller's transaction."""
    dialogue.ending = ending
    dialogue.ended_at = now
    dialogue.save(update_fields=["ending", "ended_at"])
    open_seats = dialogue.seats.filter(assignment__outcome="")
    open_assignments = list(open_seats.values_list("assignment", flat=True))
    for assignment in open_assignments:
        complete(assignment, outcome, now=now)
    if not open_assignments:
        results_changed(dialogue.study_id)
