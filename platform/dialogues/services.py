"""Every write to a conversation. One exchange is two steps: open it, close it; or one if the bot is quick.

Each step is a function of the database (migrations/0004_exchange.py). It moves the dialogue's own row on
only if the protocol allows it, and inserts the turn. PostgreSQL evaluates the condition again once it
holds the row, so of two frames that race for the same position one wins and the other is told why
(`_explain`). Times are PostgreSQL's, taken once the row is held, so that they stand in the order of what
happened. Steps that wait at the same moment share a commit. See docs/decisions/one-statement-per-turn.md
and turns-in-batches.md.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from bots.client import Reply
from bots.models import Bot
from chatbots.base import Context
from crowd.models import Assignment
from crowd.services import complete
from dialogues.batches import BatchedStep, Values
from dialogues.database import in_database
from dialogues.models import MAX_TEXT, Dialogue, Fault, Participant, Turn
from dialogues.place import Place, SavedTurn
from dialogues.progress import Progress
from dialogues.queries import context_of, faults_at, progress_of, progress_of_row, saved_turn
from dialogues.refusals import RefusedError
from studies.models import LabellingMoment
from studies.models import Speaker as Opener

# After this many failed replies in a row the worker may end the conversation and is paid in full.
FAULTS_BEFORE_GIVING_UP = 3


@dataclass(frozen=True, slots=True)
class Exchange:
    """A committed human turn with the context that the bot is to answer, and its reply if that is saved."""

    human_turn: SavedTurn
    context: Context
    progress: Progress
    reply: SavedTurn | None = None


@transaction.atomic
def begin(assignment: Assignment, *, now: datetime | None = None) -> Dialogue:
    """Start the assignment's conversation, with its scripted opening. Safe to repeat."""
    Assignment.objects.select_for_update().get(pk=assignment.pk)
    existing = Dialogue.objects.filter(assignment=assignment).first()
    if existing:
        return existing
    now = now or timezone.now()
    study = assignment.participation.study
    dialogue = Dialogue.objects.create(
        study=study,
        assignment=assignment,
        started_at=now,
        question_set=study.question_set,
        opening_turns=1 if study.opening_text else 0,
        turns=1 if study.opening_text else 0,
        min_turns=study.min_turns,
        max_turns=study.max_turns,
        label_each_turn=study.labelling_moment == LabellingMoment.EACH_TURN,
    )
    _seat(dialogue, assignment, worker_seat=1 if study.opening_speaker == Opener.BOT else 0)
    if study.opening_text:
        Turn.objects.create(dialogue=dialogue, position=0, text=study.opening_text, created_at=now)
    return dialogue


def _seat(dialogue: Dialogue, assignment: Assignment, *, worker_seat: int) -> None:
    worker = Participant(dialogue=dialogue, seat=worker_seat, worker_id=assignment.participation.worker_id)
    bot = Participant(dialogue=dialogue, seat=1 - worker_seat, bot=bot_of(assignment))
    Participant.objects.bulk_create([worker, bot])


def bot_of(assignment: Assignment) -> Bot:
    """The bot that the worker is to talk with."""
    if assignment.study_bot is None:
        raise ValueError(f"Assignment {assignment.pk} is no conversation: it has no bot.")
    return assignment.study_bot.bot


OPEN_EXCHANGE = BatchedStep(
    "dialogues_open_exchange", {"dialogue": "bigint", "seat": "integer", "text": "text", "key": "uuid"}
)
# What is stored of a reply beside its text; the last parameters of both steps that save one.
_REPLY = {
    "version": "bigint",
    "latency": "integer",
    "seed": "bigint",
    "candidates": "jsonb",
    "remarks": "jsonb",
}
CLOSE_EXCHANGE = BatchedStep(
    "dialogues_close_exchange", {"dialogue": "bigint", "position": "integer", "text": "text", **_REPLY}
)
TAKE_EXCHANGE = BatchedStep(
    "dialogues_take_exchange",
    {"dialogue": "bigint", "position": "integer", "text": "text", "key": "uuid", "reply": "text", **_REPLY},
)


async def take_exchange(place: Place, context: Context, *, key: UUID, reply: Reply) -> Exchange | None:
    """Save what the worker wrote and the bot's reply to it, both or neither.

    The message is the last turn of `context`, and `key` is that of none before it. Returns None, with
    nothing saved, if the protocol does not allow a message now or those turns are not all that was said.
    """
    position, text = len(context.turns) - 1, context.turns[-1].text
    row = await TAKE_EXCHANGE.row(
        dialogue=place.dialogue_id, position=position, text=text, key=str(key), **_stored(reply, "reply")
    )
    if row is None:
        return None
    at, turns, bot_turns, unlabelled = row
    progress = place.progress(turns=turns, bot_turns=bot_turns, unlabelled=unlabelled, ended=False)
    human_turn = _human_turn(place, position, text, key, at)
    return Exchange(human_turn, context, progress, _bot_turn(position + 1, reply, at))


async def open_exchange(place: Place, *, text: str, key: UUID) -> Exchange:
    """Save what the worker wrote, once per key, and say what the bot is to answer.

    Raises:
        RefusedError: the protocol does not allow a message now, or the key was used with another text.
    """
    row = await OPEN_EXCHANGE.row(dialogue=place.dialogue_id, seat=place.seat, text=text, key=str(key))
    if row is None:
        return await in_database(_explain, place, text=text, key=key)
    at, turns, bot_turns, unlabelled, earlier = row
    position = turns - 1
    progress = place.progress(turns=turns, bot_turns=bot_turns, unlabelled=unlabelled, ended=False)
    human_turn = _human_turn(place, position, text, key, at)
    return Exchange(human_turn, context_of(place, [*earlier, text]), progress)


def checked_text(text: str) -> str:
    """What is saved of a message.

    Raises:
        RefusedError: nothing is left of it, or it is too long.
    """
    # JSON can carry what no database can hold: null characters and halves of surrogate pairs.
    text = text.encode(errors="ignore").decode().replace("\x00", "").strip()
    if not text:
        raise RefusedError("empty")
    if len(text) > MAX_TEXT:
        raise RefusedError("too_long")
    return text


def _explain(place: Place, *, text: str, key: UUID) -> Exchange:
    """The message was not saved: because it already is, or because the protocol forbids it now."""
    stored = Turn.objects.filter(dialogue_id=place.dialogue_id, key=key).first()
    progress = progress_of(place)
    if stored is None:
        raise RefusedError(progress.why_not_send() or "not_your_turn")
    if stored.text != text:
        raise RefusedError("key_reused")
    turns = list(Turn.objects.filter(dialogue_id=place.dialogue_id, position__lte=stored.position + 1))
    reply = turns[-1] if turns[-1].position > stored.position else None
    context = context_of(place, [turn.text for turn in turns if turn.position <= stored.position])
    return Exchange(saved_turn(place, stored), context, progress, saved_turn(place, reply) if reply else None)


async def close_exchange(place: Place, *, position: int, reply: Reply) -> tuple[SavedTurn, Progress]:
    """Save the bot's reply at `position`. If one is there already, that first reply stays.

    Raises:
        RefusedError: the conversation ended meanwhile; the reply is dropped.
    """
    row = await CLOSE_EXCHANGE.row(dialogue=place.dialogue_id, position=position, **_stored(reply, "text"))
    if row is None:
        return await in_database(_first_reply, place, position)
    at, turns, bot_turns, unlabelled = row
    progress = place.progress(turns=turns, bot_turns=bot_turns, unlabelled=unlabelled, ended=False)
    return _bot_turn(position, reply, at), progress


def _stored(reply: Reply, text: str) -> Values:
    """What is stored of a reply, by parameter; `text` names that of its text."""
    return {
        text: reply.response.text,
        "version": reply.version_id,
        "latency": reply.latency_ms,
        "seed": reply.seed,
        "candidates": [[c.text, c.score] for c in reply.response.candidates] or None,
        "remarks": reply.remarks,
    }


def _human_turn(place: Place, position: int, text: str, key: UUID, at: datetime) -> SavedTurn:
    return SavedTurn(position, "human", text, position >= place.opening_turns, str(key), at.isoformat())


def _bot_turn(position: int, reply: Reply, at: datetime) -> SavedTurn:
    return SavedTurn(position, "bot", reply.response.text, True, None, at.isoformat())


def _first_reply(place: Place, position: int) -> tuple[SavedTurn, Progress]:
    stored = Turn.objects.filter(dialogue_id=place.dialogue_id, position=position).first()
    if stored is None:
        raise RefusedError("ended")
    return saved_turn(place, stored), progress_of(place)


def record_fault(place: Place, *, position: int, kind: str, detail: str, now: datetime | None = None) -> int:
    """Note that the bot failed to reply at `position`; returns how often it has failed there."""
    Fault.objects.create(
        dialogue_id=place.dialogue_id,
        position=position,
        kind=kind,
        detail=detail[:2000],
        at=now or timezone.now(),
    )
    return faults_at(place, position)


@transaction.atomic
def finish(place: Place, *, now: datetime | None = None) -> None:
    """End the conversation as complete. Safe to repeat.

    Raises:
        RefusedError: too early, a reply is due, or a bot turn is not labelled.
    """
    dialogue = Dialogue.objects.select_for_update().get(pk=place.dialogue_id)
    if dialogue.ending == Dialogue.Ending.COMPLETE:
        return
    obstacle = progress_of_row(place, dialogue).why_not_finish()
    if obstacle:
        raise RefusedError(obstacle)
    _end(dialogue, Dialogue.Ending.COMPLETE, Assignment.Outcome.COMPLETE, now or timezone.now())


@transaction.atomic
def give_up(place: Place, *, now: datetime | None = None) -> None:
    """End the conversation because its bot cannot answer; the worker is paid in full. Safe to repeat.

    Raises:
        RefusedError: no reply is due, or the bot has not failed often enough.
    """
    dialogue = Dialogue.objects.select_for_update().get(pk=place.dialogue_id)
    if dialogue.ending == Dialogue.Ending.BOT_FAILED:
        return
    progress = progress_of_row(place, dialogue)
    if progress.ended:
        raise RefusedError("ended")
    if not progress.reply_due or faults_at(place, progress.turns) < FAULTS_BEFORE_GIVING_UP:
        raise RefusedError("may_not_give_up")
    _end(dialogue, Dialogue.Ending.BOT_FAILED, Assignment.Outcome.BOT_FAILED, now or timezone.now())


def _end(dialogue: Dialogue, ending: Dialogue.Ending, outcome: Assignment.Outcome, now: datetime) -> None:
    dialogue.ending = ending
    dialogue.ended_at = now
    dialogue.save(update_fields=["ending", "ended_at"])
    if dialogue.assignment_id:
        complete(dialogue.assignment_id, outcome, now=now)
