"""One turn, end to end: save what the worker wrote, ask the bot, save its reply, tell every tab.

Where two people talk, the other one's tabs are told what was written, and nobody is asked.

How a message came to be written: characters pasted and time of typing, never which keys.

Only where the study says so to those who take part, before they agree.

What one tab has been told of a conversation, kept as the next message needs it.
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
from turnwise.bots.hosting import client
from turnwise.dialogues import operator_replies, queries, services
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.seat_context import SavedTurn, Seated
from turnwise.live.database import in_database
from turnwise.live.frames import MAX_TEXT, Frame, RefusedError, Tell

LONGEST_MS = 24 * 3600 * 1000


class Typed(NamedTuple):
    """As the page measured it.

    Attributes:
        pasted: characters that came in by pasting or dropping, whatever became of them.
        typing_ms: time between changes of the text, without pauses of two seconds or more.
    """

    pasted: int
    typing_ms: int

    @classmethod
    def of(cls, frame: dict[str, Any]) -> Self | None:
        """What the frame says; anything odd counts as unknown: a message is worth more than its rhythm."""
        told = frame.get("typed")
        if not isinstance(told, dict):
            return None
        pasted, ms = _number(told.get("pasted")), _number(told.get("ms"))
        if pasted is None or ms is None:
            return None
        return cls(min(pasted, 10 * MAX_TEXT), min(ms, LONGEST_MS))


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return round(value)


# The lock waits for a withdrawal of the message, which takes its key.
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


def note(dialogue_id: int, key: UUID, typed: Typed) -> None:
    """Keep it with the message of this key, if the study notes such. Safe to repeat: the first stays."""
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, [typed.pasted, typed.typing_ms, dialogue_id, key])


class Shown:
    """The turns that a tab shows, oldest first and without a gap.

    Attributes:
        turns: as a bot gets them.
        keys: of the messages among them.
    """

    def __init__(self, told: Iterable[Frame] = ()) -> None:
        """Begin with these turns."""
        self.turns: list[Turn] = []
        self.keys: set[str] = set()
        for turn in told:
            self.add(turn)

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, turn: Frame) -> None:
        """Note a turn that was told, unless it is known already or does not follow the last."""
        if turn["position"] != len(self.turns):
            return
        speaker = Speaker.HUMAN if turn["speaker"] == "human" else Speaker.BOT
        self.turns.append(Turn(speaker, turn["text"]))
        if turn["key"]:
            self.keys.add(turn["key"])


log = logging.getLogger(__name__)

BOT_FAILED = _("The chatbot could not answer. Your work is safe, and this does not affect your pay.")

# Replies that are being waited for: dialogue and position. That goes on when the worker's socket is gone:
# the reply is saved, and found when the worker comes back.
_answering: set[tuple[int, int]] = set()
_starting: set[tuple[int, int]] = set()  # those of them whose bot is still loading
_tasks: set[asyncio.Task[None]] = set()  # the event loop itself holds tasks only weakly


async def take_turn(
    seat: Seated,
    *,
    text: str,
    key: UUID,
    shown: Shown,
    tell: Tell,
    tell_partner: Tell | None = None,
) -> None:
    """Carry one exchange. Safe to repeat with the same key. `shown` is what the page shows.

    Returns once the worker's turn is committed and told, to the tabs of a person opposite as well. The reply
    of a bot that answers at once is then told; any other follows on its own. No transaction is open while the
    bot thinks.

    Raises:
        RefusedError: the protocol does not allow a message now; nothing was saved.
    """
    text = services.checked_text(text)
    exchange = await _take_at_once(seat, text, key, shown)
    if exchange is None:
        exchange = await services.open_exchange(seat, text=text, key=key)
    await tell(turn_frame("turn_saved", exchange.human_turn, exchange.progress))
    if exchange.partners and tell_partner:
        heard = exchange.human_turn._replace(speaker="partner", key=None)
        await tell_partner(turn_frame("partner_turn", heard, exchange.partners))
    if exchange.reply:
        kind = "partner_turn" if seat.bot_id is None else "bot_turn"
        await tell(turn_frame(kind, *exchange.reply))
    else:
        _answer_soon(seat, exchange.context, exchange.progress, tell)


async def _take_at_once(seat: Seated, text: str, key: UUID, shown: Shown) -> services.Exchange | None:
    """Save message and reply in one step; None, and nothing saved, unless all is as it mostly is.

    Half of what an exchange costs is its second commit. A quick bot is asked before the message is saved,
    on the strength of what the page shows; the step checks that this is still all that was said.
    """
    if seat.bot_id is None or seat.is_operated or len(shown) % 2 != seat.number or str(key) in shown.keys:
        return None
    context = queries.context_with(seat, (*shown.turns, Turn(Speaker.HUMAN, text)))
    reply = await client.reply_at_once(seat.bot_id, context, party=seat.study_code)
    return await services.take_exchange(seat, context, key=key, reply=reply) if reply else None


async def retry(seat: Seated, *, tell: Tell) -> None:
    """Ask the bot again for the reply that is due.

    None may be: a reply whose saving broke off, as when the database is restarted, may be saved all the same.
    """
    turns, progress, _ = await in_database(queries.snapshot, seat)
    if progress.reply_due:
        resume(seat, turns, progress, tell=tell)


def resume(seat: Seated, turns: list[SavedTurn], progress: Progress, *, tell: Tell) -> None:
    """Ask the bot for the reply that these turns wait for, as after a crash in the middle of an exchange."""
    _answer_soon(seat, queries.context_of(seat, [turn.text for turn in turns]), progress, tell)


def is_answering(seat: Seated, position: int) -> bool:
    """Whether the reply at this position is being waited for in this process."""
    return (seat.dialogue_id, position) in _answering


def is_starting(seat: Seated, position: int) -> bool:
    """Whether the reply at this position waits for a bot that is still loading."""
    return (seat.dialogue_id, position) in _starting


def _answer_soon(seat: Seated, context: Context, progress: Progress, tell: Tell) -> None:
    # Of a position, not of the dialogue: a tab that opens in the moment in which a reply is saved may ask
    # for it once more, and must not keep the next message waiting meanwhile.
    if seat.bot_id is None or is_answering(seat, progress.turns):
        return
    _answering.add((seat.dialogue_id, progress.turns))
    task = asyncio.create_task(_answer(seat, context, progress, tell))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _answer(seat: Seated, context: Context, progress: Progress, tell: Tell) -> None:
    reply = (seat.dialogue_id, progress.turns)

    async def tell_of_loading() -> None:
        _starting.add(reply)
        await tell({"type": "bot_starting"})

    try:
        frame = await _outcome(seat, context, progress, tell_of_loading)
    finally:
        # Before it is told: the next message may follow at once.
        _answering.discard(reply)
        _starting.discard(reply)
    if frame:
        await tell(frame)


async def _outcome(
    seat: Seated, context: Context, progress: Progress, on_loading: client.OnLoading
) -> Frame | None:
    """Ask the bot and save what comes of it; the frame that tells it, or None if nobody needs to know."""
    position = progress.turns
    try:
        assert seat.bot_id is not None
        if seat.is_operated:
            reply = await operator_replies.reply(seat, seat.bot_id, position)
        else:
            reply = await client.reply(seat.bot_id, context, party=seat.study_code, on_loading=on_loading)
        turn, progress = await services.close_exchange(seat, position=position, reply=reply)
        return turn_frame("bot_turn", turn, progress)
    except ChatbotError as error:
        kind = type(error).__name__.removesuffix("Error")
        times = await in_database(
            services.record_fault, seat, position=position, kind=kind, detail=str(error)
        )
        return {"type": "bot_failed", "fault": fault_frame(seat, times), "progress": idle(progress)}
    except RefusedError:
        log.info("Dialogue %s ended while its bot was thinking.", seat.public_id)
        return None
    except Exception:
        log.exception("The reply at %s of dialogue %s was lost.", position, seat.public_id)
        return {"type": "bot_failed", "fault": fault_frame(seat, 1), "progress": idle(progress)}


def turn_frame(kind: str, turn: SavedTurn, progress: Progress) -> Frame:
    return {"type": kind, "turn": turn._asdict(), "progress": progress.frame}


def fault_frame(seat: Seated, times: int) -> Frame:
    may_give_up = times >= services.faults_before_giving_up(seat)
    return {"say": str(BOT_FAILED), "attempts": times, "may_give_up": may_give_up}


def idle(progress: Progress) -> Frame:
    """Progress of a dialogue whose bot failed: a reply is due, but nobody is thinking about it."""
    return progress.frame | {
        "thinking": False,
        "hint": gettext("The chatbot could not answer. Let it try again."),
    }
