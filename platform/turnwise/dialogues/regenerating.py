"""Another reply to the same message: asking the bot once more, and showing its reply in every tab.

To a tab, the conversation is as it was before the reply: the bot is writing, nothing can be judged or sent.
If the bot fails or the process dies, the reply before stays, and the worker may ask once more.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from uuid import UUID

from chatbots.base import Context
from chatbots.errors import ChatbotError
from turnwise.dialogues import growing_replies, queries, reply_versions, services
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.reply_versions import KeptReply
from turnwise.dialogues.seat_context import SeatContext
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError, Tell
from turnwise.live.sockets import draining

log = logging.getLogger(__name__)

Reload = Callable[[], Awaitable[None]]
"""Makes every tab of the seat read its state."""

_running: set[tuple[int, int]] = set()  # (dialogue, position) of replies that are asked for in this process


async def regenerate(seat: SeatContext, *, position: int, key: UUID, send: Tell, reload: Reload) -> None:
    """Ask the bot for another reply at this position. Idempotent for the same key.

    Returns once all tabs know that the bot is writing; a background task sends the reply.

    Raises:
        RefusedError: the reply is judged or answered, or there are as many as the study allows.
    """
    if is_running(seat, position):
        return
    _running.add((seat.dialogue_id, position))
    try:
        texts = await in_database(reply_versions.request, seat, position, key)
        if texts is None:
            _running.discard((seat.dialogue_id, position))
            await reload()
            return
        progress = await in_database(queries.progress_of, seat)
    except BaseException:
        _running.discard((seat.dialogue_id, position))
        raise
    context = queries.context_of(seat, texts)
    task = asyncio.create_task(_fetch_version(seat, context, position, key, send, reload))
    draining.hold(task)
    before = seat.progress_before(progress, position)
    await send({"type": "regenerating", "position": position, "progress": before.frame})


def is_running(seat: SeatContext, position: int) -> bool:
    """True if this process is waiting for another reply at this position."""
    return (seat.dialogue_id, position) in _running


def reply_frame(kept: KeptReply) -> Frame:
    """Frame of a reply that takes the place of another one."""
    frame = {"type": "bot_turn", "turn": kept.turn._asdict(), "progress": kept.progress.frame}
    return frame | ({"versions": kept.versions} if kept.versions else {})


async def _fetch_version(
    seat: SeatContext, context: Context, position: int, key: UUID, send: Tell, reload: Reload
) -> None:
    growing = growing_replies.begin(seat, position, send)
    frame: Frame | None = None
    try:
        frame = await _version_frame(seat, context, position, key, send, growing)
    finally:
        _running.discard((seat.dialogue_id, position))
        if growing:
            growing_replies.end(seat, position)
            await growing.close()
    if frame is None or frame["type"] == "refused":
        await reload()
    if frame:
        await send(frame)


async def _version_frame(
    seat: SeatContext,
    context: Context,
    position: int,
    key: UUID,
    send: Tell,
    growing: growing_replies.GrowingReply | None,
) -> Frame | None:
    """Ask the bot and store its reply; returns the frame for the tabs, None to make them read their state."""

    async def send_loading() -> None:
        await send({"type": "bot_starting"})

    try:
        reply = await growing_replies.ask_bot(seat, context, send_loading, growing)
        version = await reply_versions.add(seat, position=position, key=key, reply=reply)
        return reply_frame(version) if version.progress.turns == position + 1 else None
    except ChatbotError as error:
        kind = type(error).__name__.removesuffix("Error")
        await in_database(services.record_fault, seat, position=position, kind=kind, detail=str(error))
    except RefusedError:
        log.info("Another reply in dialogue %s came too late.", seat.public_id)
        return None
    except Exception:
        log.exception("Another reply at %s of dialogue %s was lost.", position, seat.public_id)
    refusal = RefusedError("no_other_reply")
    return {"type": "refused", "reason": refusal.reason, "say": refusal.say}


def hidden_reply(seat: SeatContext, progress: Progress) -> Progress | None:
    """Progress to show while another last reply is awaited; None if none is."""
    position = progress.turns - 1
    return seat.progress_before(progress, position) if is_running(seat, position) else None
