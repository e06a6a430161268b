"""One exchange from end to end: save the message, ask the bot, save its reply, and send both to every tab.

If two people talk, the message goes to the partner's tabs and no bot is asked. The module also records how
a message was typed (characters pasted and typing time, never keys), if the study announces this before
consent, and holds the turns that a tab displays, which the next message needs.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, NamedTuple, Self
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from chatbots.base import Context, Speaker, Turn
from chatbots.errors import ChatbotError
from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.bots.hosting import client
from turnwise.dialogues import growing_replies, operator_replies, queries, services
from turnwise.dialogues.growing_replies import GrowingReply
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.seat_context import SavedTurn, SeatContext
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, Tell, TellAll
from turnwise.live.metrics.recording import TurnClock
from turnwise.live.sockets import draining
from turnwise.live.traces.spans import traced
from turnwise.studies.models import ReplyDisplay

LONGEST_MS = 24 * 3600 * 1000


class TypingMeasurement(NamedTuple):
    """Typing of one message, as measured by the page.

    Attributes:
        pasted: characters that were pasted or dropped, even if they were changed later.
        typing_ms: time between changes of the text, without pauses of two seconds or more.
    """

    pasted: int
    typing_ms: int

    @classmethod
    def of(cls, frame: dict[str, Any]) -> Self | None:
        """Read the measurement from a frame; None if it is malformed, so that the message is still saved."""
        typed = frame.get("typed")
        if not isinstance(typed, dict):
            return None
        pasted, ms = _number(typed.get("pasted")), _number(typed.get("ms"))
        if pasted is None or ms is None:
            return None
        return cls(min(pasted, 10 * MAX_MESSAGE_CHARS), min(ms, LONGEST_MS))


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return round(value)


# The lock waits for a withdrawal, which removes the message's key.
_NOTE = """
INSERT INTO dialogues_typing (turn_id, pasted, typing_ms)
SELECT t.id, %s, %s
  FROM dialogues_turn AS t
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
  JOIN studies_study AS s ON s.id = d.study_id
 WHERE t.dialogue_id = %s AND t.key = %s AND s.notes_typing
   FOR SHARE OF t
    ON CONFLICT DO NOTHING
"""


def record_typing(dialogue_id: int, key: UUID, typed: TypingMeasurement) -> None:
    """Store the typing of the message with this key, if the study records typing. The first one stays."""
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [typed.pasted, typed.typing_ms, dialogue_id, key])


class DisplayedTurns:
    """The turns that a tab shows, oldest first and without a gap.

    Attributes:
        turns: the turns in the form that a bot gets.
        keys: keys of the messages among them.
    """

    def __init__(self, sent: Iterable[Frame] = ()) -> None:
        """Begin with the turns that were sent to the tab."""
        self.turns: list[Turn] = []
        self.keys: set[str] = set()
        for turn in sent:
            self.add(turn)

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, turn: Frame) -> None:
        """Add a turn that was sent, unless it is known already or does not follow the last one."""
        if turn["position"] != len(self.turns):
            return
        speaker = Speaker.HUMAN if turn["speaker"] == "human" else Speaker.BOT
        self.turns.append(Turn(speaker, turn["text"]))
        if turn["key"]:
            self.keys.add(turn["key"])


log = logging.getLogger(__name__)

BOT_FAILED = _("The chatbot could not answer. Your work is safe, and this does not affect your pay.")

# Replies in progress, as (dialogue, position). They continue after the worker's socket has closed: the reply
# is saved, and the worker finds it on return.
_answering: set[tuple[int, int]] = set()
_starting: set[tuple[int, int]] = set()  # the ones whose bot is still loading


@traced("turn")
async def take_turn(
    seat: SeatContext,
    *,
    text: str,
    key: UUID,
    displayed: DisplayedTurns,
    send: TellAll,
    send_to_partner: Tell | None = None,
    picture: str = "",
) -> None:
    """Carry out one exchange. Idempotent for the same key. `displayed` holds the turns that the page shows.

    `picture` is the hash of the picture that the message sends; empty for none.

    Returns once the worker's turn is committed and sent to all tabs, including those of a second person. A
    bot's reply is then already sent if the bot is quick; otherwise a background task sends it. No transaction
    is open while the bot thinks.

    Raises:
        RefusedError: the protocol does not allow a message now; nothing was saved.
    """
    text, clock = services.checked_text(text, seat.message_limit), TurnClock()
    exchange = await _try_single_step(seat, text, str(key), displayed, clock)
    is_complete = exchange is not None
    if exchange is None:
        exchange = await services.open_exchange(seat, text=text, key=key, picture=picture)
        clock.lap("message_saved")
    saved = turn_frame("turn_saved", exchange.human_turn, exchange.progress)
    if exchange.reply:
        kind = "partner_turn" if seat.bot_id is None else "bot_turn"
        await send(saved, turn_frame(kind, *exchange.reply))
        if is_complete:  # else it is the stored result of a message that was sent again
            clock.finish()
        return
    await send(saved)
    if exchange.partners and send_to_partner:
        partner_turn = exchange.human_turn._replace(speaker="partner", key=None)
        await send_to_partner(turn_frame("partner_turn", partner_turn, exchange.partners))
    _schedule_reply(seat, exchange.context, exchange.progress, send, clock)


async def _try_single_step(
    seat: SeatContext, text: str, key: str, displayed: DisplayedTurns, clock: TurnClock
) -> services.Exchange | None:
    """Save message and reply in one step; None, with nothing saved, if the usual conditions do not hold.

    The second commit is half the cost of an exchange. So a quick bot is asked before the message is saved,
    with the turns that the page shows; the step then checks that these are still all turns.
    """
    if (
        seat.bot_id is None
        or seat.is_operated
        or seat.reply_display == ReplyDisplay.FIXED_PACE
        or seat.takes_pictures  # the turns of the page have none
        or seat.max_reply_versions > 1  # another tab may have chosen another reply than this page shows
        or len(displayed) % 2 != seat.number
        or key in displayed.keys
    ):
        return None
    context = queries.context_with(seat, (*displayed.turns, Turn(Speaker.HUMAN, text)))
    reply = await client.reply_at_once(seat.bot_id, context, tenant=seat.study_code)
    if reply is None:
        return None
    clock.lap("bot_answered")
    exchange = await services.save_exchange(seat, context, key=key, reply=reply)
    clock.lap("reply_saved")
    return exchange


async def retry(seat: SeatContext, *, send: Tell) -> None:
    """Ask the bot again for the due reply, if one is still due.

    A reply may have been saved although its saving seemed to fail, for example when the database restarted.
    """
    turns, progress, _ = await in_database(queries.snapshot, seat)
    if progress.reply_due:
        resume(seat, turns, progress, send=send)


def resume(seat: SeatContext, turns: list[SavedTurn], progress: Progress, *, send: Tell) -> None:
    """Ask the bot for the reply to these turns, for example after a crash in the middle of an exchange."""
    _schedule_reply(seat, queries.context_of(seat, [turn.text for turn in turns]), progress, send)


def is_answering(seat: SeatContext, position: int) -> bool:
    """True if this process is waiting for the reply at this position."""
    return (seat.dialogue_id, position) in _answering


def is_starting(seat: SeatContext, position: int) -> bool:
    """True if the reply at this position waits for a bot that is still loading."""
    return (seat.dialogue_id, position) in _starting


def _schedule_reply(
    seat: SeatContext, context: Context, progress: Progress, send: Tell, clock: TurnClock | None = None
) -> None:
    """Begin to fetch a reply, unless this process does so already; `clock` is that of a new turn."""
    # Check the position, not only the dialogue: a tab that opens while a reply is being saved may ask for it
    # once more, and must not block the next message.
    if seat.bot_id is None or is_answering(seat, progress.turns):
        return
    _answering.add((seat.dialogue_id, progress.turns))
    task = asyncio.create_task(_fetch_reply(seat, context, progress, send, clock))
    draining.hold(task)


@traced("reply")
async def _fetch_reply(
    seat: SeatContext, context: Context, progress: Progress, send: Tell, clock: TurnClock | None
) -> None:
    reply = (seat.dialogue_id, progress.turns)
    growing = growing_replies.begin(seat, progress.turns, send)

    async def send_loading() -> None:
        _starting.add(reply)
        await send({"type": "bot_starting"})

    try:
        frame = await _reply_frame(seat, context, progress, send_loading, growing, clock)
    finally:
        # Clear this before the frame is sent: the next message may follow at once.
        _answering.discard(reply)
        _starting.discard(reply)
        if growing:
            growing_replies.end(seat, progress.turns)
    if growing:
        await growing.close()
    if frame:
        await send(frame)
        if clock and frame["type"] == "bot_turn" and not seat.is_operated:
            clock.finish()


async def _reply_frame(
    seat: SeatContext,
    context: Context,
    progress: Progress,
    on_loading: client.OnLoading,
    growing: GrowingReply | None,
    clock: TurnClock | None,
) -> Frame | None:
    """Ask the bot, save its reply or failure, and return the frame for the tabs; None if it ended."""
    position = progress.turns
    try:
        assert seat.bot_id is not None
        if seat.is_operated:
            reply = await operator_replies.wait_for_reply(seat, seat.bot_id, position)
        else:
            reply = await growing_replies.ask_bot(seat, context, on_loading, growing)
        if clock:
            clock.lap("bot_answered")
        turn, progress = await services.close_exchange(seat, position=position, reply=reply)
        if clock:
            clock.lap("reply_saved")
        return turn_frame("bot_turn", turn, progress)
    except ChatbotError as error:
        kind = type(error).__name__.removesuffix("Error")
        times = await in_database(
            services.record_fault, seat, position=position, kind=kind, detail=str(error)
        )
        return {"type": "bot_failed", "fault": fault_frame(seat, times), "progress": idle_progress(progress)}
    except RefusedError:
        log.info("Dialogue %s ended while its bot was thinking.", seat.public_id)
        return None
    except Exception:
        log.exception("The reply at %s of dialogue %s was lost.", position, seat.public_id)
        return {"type": "bot_failed", "fault": fault_frame(seat, 1), "progress": idle_progress(progress)}


def turn_frame(kind: str, turn: SavedTurn, progress: Progress) -> Frame:
    return {"type": kind, "turn": turn._asdict(), "progress": progress.frame}


def fault_frame(seat: SeatContext, times: int) -> Frame:
    may_give_up = times >= services.faults_before_giving_up(seat)
    return {"say": str(BOT_FAILED), "attempts": times, "may_give_up": may_give_up}


def idle_progress(progress: Progress) -> Frame:
    """Progress frame after a failure: a reply is due, but no bot is working on it."""
    return progress.frame | {
        "thinking": False,
        "hint": gettext("The chatbot could not answer. Let it try again."),
    }
