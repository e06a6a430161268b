"""One turn, end to end: save what the worker wrote, ask the bot, save its reply, tell every tab."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from bots import client
from chatbots.base import Context
from chatbots.errors import ChatbotError
from dialogues import queries, services
from dialogues.database import in_database
from dialogues.place import Place, SavedTurn
from dialogues.progress import Progress
from dialogues.refusals import RefusedError

Frame = dict[str, Any]
Tell = Callable[[Frame], Awaitable[None]]

log = logging.getLogger(__name__)

BOT_FAILED = "The chatbot could not answer. Your work is safe, and this does not affect your pay."

# Replies that are being waited for: dialogue and position. That goes on when the worker's socket is gone:
# the reply is saved, and found when the worker comes back.
_answering: set[tuple[int, int]] = set()
_tasks: set[asyncio.Task[None]] = set()  # the event loop itself holds tasks only weakly


async def take_turn(place: Place, *, text: str, key: UUID, shown: Sequence[Frame], tell: Tell) -> None:
    """Carry one exchange. Safe to repeat with the same key. `shown` are the turns that the page shows.

    Returns once the worker's turn is committed and told. The reply of a bot that answers at once is then
    told, too; any other follows on its own. No transaction is open while the bot thinks.

    Raises:
        RefusedError: the protocol does not allow a message now; nothing was saved.
    """
    text = services.checked_text(text)
    exchange = await _take_at_once(place, text, key, shown)
    if exchange is None:
        exchange = await services.open_exchange(place, text=text, key=key)
    await tell(turn_frame("turn_saved", exchange.human_turn, exchange.progress))
    if exchange.reply:
        await tell(turn_frame("bot_turn", exchange.reply, exchange.progress))
    else:
        _answer_soon(place, exchange.context, exchange.progress, tell)


async def _take_at_once(
    place: Place, text: str, key: UUID, shown: Sequence[Frame]
) -> services.Exchange | None:
    """Save message and reply in one step; None, and nothing saved, unless all is as it mostly is.

    Half of what an exchange costs is its second commit. A quick bot is asked before the message is saved,
    on the strength of what the page shows; the step checks that this is still all that was said.
    """
    if len(shown) % 2 != place.seat or str(key) in {turn["key"] for turn in shown}:
        return None
    context = queries.context_of(place, [*(turn["text"] for turn in shown), text])
    reply = await client.reply_at_once(place.bot_id, context, party=place.study_code)
    return await services.take_exchange(place, context, key=key, reply=reply) if reply else None


async def retry(place: Place, *, tell: Tell) -> None:
    """Ask the bot again for the reply that is due.

    Raises:
        RefusedError: no reply is due.
    """
    turns, progress, _ = await in_database(queries.snapshot, place)
    if not progress.reply_due:
        raise RefusedError("nothing_to_retry")
    resume(place, turns, progress, tell=tell)


def resume(place: Place, turns: list[SavedTurn], progress: Progress, *, tell: Tell) -> None:
    """Ask the bot for the reply that these turns wait for, as after a crash in the middle of an exchange."""
    _answer_soon(place, queries.context_of(place, [turn.text for turn in turns]), progress, tell)


def is_answering(place: Place, position: int) -> bool:
    """Whether the reply at this position is being waited for in this process."""
    return (place.dialogue_id, position) in _answering


def _answer_soon(place: Place, context: Context, progress: Progress, tell: Tell) -> None:
    # Of a position, not of the dialogue: a tab that opens in the moment in which a reply is saved may ask
    # for it once more, and must not keep the next message waiting meanwhile.
    if is_answering(place, progress.turns):
        return
    _answering.add((place.dialogue_id, progress.turns))
    task = asyncio.create_task(_answer(place, context, progress, tell))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _answer(place: Place, context: Context, progress: Progress, tell: Tell) -> None:
    try:
        frame = await _outcome(place, context, progress)
    finally:
        # Before it is told: the next message may follow at once.
        _answering.discard((place.dialogue_id, progress.turns))
    if frame:
        await tell(frame)


async def _outcome(place: Place, context: Context, progress: Progress) -> Frame | None:
    """Ask the bot and save what comes of it; the frame that tells it, or None if nobody needs to know."""
    position = progress.turns
    try:
        reply = await client.reply(place.bot_id, context, party=place.study_code)
        turn, progress = await services.close_exchange(place, position=position, reply=reply)
        return turn_frame("bot_turn", turn, progress)
    except ChatbotError as error:
        kind = type(error).__name__.removesuffix("Error")
        times = await in_database(
            services.record_fault, place, position=position, kind=kind, detail=str(error)
        )
        return {"type": "bot_failed", "fault": fault_frame(times), "progress": idle(progress)}
    except RefusedError:
        log.info("Dialogue %s ended while its bot was thinking.", place.public_id)
        return None
    except Exception:
        log.exception("The reply at %s of dialogue %s was lost.", position, place.public_id)
        return {"type": "bot_failed", "fault": fault_frame(1), "progress": idle(progress)}


def turn_frame(kind: str, turn: SavedTurn, progress: Progress) -> Frame:
    return {"type": kind, "turn": turn._asdict(), "progress": progress.as_frame()}


def fault_frame(times: int) -> Frame:
    return {"say": BOT_FAILED, "attempts": times, "may_give_up": times >= services.FAULTS_BEFORE_GIVING_UP}


def idle(progress: Progress) -> Frame:
    """Progress of a dialogue whose bot failed: a reply is due, but nobody is thinking about it."""
    return progress.as_frame() | {
        "thinking": False,
        "hint": "The chatbot could not answer. Let it try again.",
    }
