"""One message to both bots at once: saving it on both sides, asking both bots, and what the page may show.

A reply is shown only once the other bot has answered, too: so neither its speed nor its failure tells the two
apart. A side whose bot failed is asked again alone, and the other side keeps its reply.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from chatbots.errors import ChatbotError
from turnwise.bots.hosting import client
from turnwise.crowd.places.reservation import keep_place
from turnwise.dialogues import queries, services
from turnwise.dialogues.models import Battle, Turn
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.seat_context import SavedTurn, SeatContext
from turnwise.dialogues.turn_steps import SAY
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError
from turnwise.live.markdown import as_html
from turnwise.tasks.arena.battles import ArenaContext, OpenBattle, lock_batch, open_battle, refusal

log = logging.getLogger(__name__)

Notify = Callable[[], Awaitable[None]]
"""Makes every tab of the worker read its state."""

_running: set[int] = set()  # keys of battles whose bots are asked by this process
_tasks: set[asyncio.Task[None]] = set()  # the event loop itself holds tasks only weakly


@transaction.atomic
def save_message(context: ArenaContext, number: int, text: str, key: UUID) -> OpenBattle:
    """Save a message on both sides of the battle, or on neither. Idempotent for the same key.

    Raises:
        RefusedError: the battle is over or takes no message now, or the key was used with another text.
    """
    lock_batch(context)
    found = open_battle(context, number)
    if found is None:
        raise refusal("battle_over")
    text = services.checked_text(text, found.seats[0].message_limit)
    for seat in found.seats:
        _save_on_side(seat, text, key)
    keep_place(context.assignment_id)
    return found


def _save_on_side(seat: SeatContext, text: str, key: UUID) -> None:
    row = SAY.row_alone(
        dialogue=seat.dialogue_id,
        seat=seat.number,
        room=seat.turns_needed,
        text=text,
        key=str(key),
        **seat.due_with_message,
    )
    if row is not None:
        return
    stored = Turn.objects.filter(dialogue=seat.dialogue_id, key=key).first()
    if stored is None:
        raise RefusedError(_why_not(queries.progress_of(seat)) or "not_your_turn")
    if stored.text != text:
        raise RefusedError("key_reused")


def _why_not(progress: Progress) -> str:
    obstacle = progress.why_not_send()
    return "ended" if obstacle == "partner_finished" else obstacle  # a vote has closed the conversation


def ask_both(battle: OpenBattle, notify: Notify) -> None:
    """Begin to ask the bots that have not answered yet, unless this process does so already."""
    key = battle.battle.pk
    if key in _running:
        return
    _running.add(key)
    task = asyncio.create_task(_ask_both(battle, notify))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _ask_both(battle: OpenBattle, notify: Notify) -> None:
    try:
        await asyncio.gather(*map(_ask_one, battle.seats))
    finally:
        _running.discard(battle.battle.pk)
    await notify()


async def _ask_one(seat: SeatContext) -> None:
    """Ask one bot for its due reply, and save the reply or the failure."""
    position = 0
    try:
        turns, progress, _faults = await in_database(queries.snapshot, seat)
        if not progress.reply_due or seat.bot_id is None:
            return
        position = progress.turns
        context = queries.context_of(seat, [turn.text for turn in turns])
        reply = await client.reply(seat.bot_id, context, tenant=seat.study_code)
        await services.close_exchange(seat, position=position, reply=reply)
    except ChatbotError as error:
        kind = type(error).__name__.removesuffix("Error")
        await in_database(services.record_fault, seat, position=position, kind=kind, detail=str(error))
    except RefusedError:
        log.info("Dialogue %s ended while its bot was thinking.", seat.public_id)
    except Exception as error:
        log.exception("The reply at %s of dialogue %s was lost.", position, seat.public_id)
        await in_database(services.record_fault, seat, position=position, kind="Lost", detail=str(error))


Side = tuple[list[SavedTurn], Progress, int]
"""Turns of one side, its progress, and how often its due reply has failed."""


def read_sides(battle: OpenBattle) -> tuple[Side, Side]:
    """Both sides as they are stored, read together."""
    with transaction.atomic():
        # Orders this with a message that is being saved on both sides.
        Battle.objects.select_for_update(no_key=True).filter(pk=battle.battle.pk).first()
        left, right = (queries.snapshot(seat) for seat in battle.seats)
    return left, right


def is_complete(sides: tuple[Side, Side]) -> bool:
    """True if both bots have answered every message."""
    return not any(progress.reply_due for _turns, progress, _faults in sides)


def why_not_vote(sides: tuple[Side, Side]) -> str:
    """Reason for which the worker may not vote now; empty if they may."""
    if not is_complete(sides) or not sides[0][0]:
        return "vote_early"
    return "" if all(progress.is_long_enough for _turns, progress, _faults in sides) else "too_early"


def needs_asking(battle: OpenBattle, sides: tuple[Side, Side]) -> bool:
    """True if a reply is due that nobody asks for: the process that did so has ended."""
    is_failed = any(faults for _turns, _progress, faults in sides)
    return not is_complete(sides) and not is_failed and battle.battle.pk not in _running


def rounds_frame(battle: OpenBattle, sides: tuple[Side, Side], *, is_closed: bool) -> Frame:
    """The battle as the page shows it; the newest replies are left out until both are there."""
    is_asked = battle.battle.pk in _running
    faults = 0 if is_asked else max(faults for _turns, _progress, faults in sides)
    obstacle = "ended" if is_closed else sides[0][1].why_not_send() or sides[1][1].why_not_send()
    complete = is_complete(sides)
    return {
        "battle": battle.battle.number,
        "turns": _rounds(battle.seats[0], *(turns for turns, _progress, _faults in sides)),
        "thinking": not complete and not faults,
        "may_send": not obstacle,
        "is_full": obstacle == "turn_limit",
        "may_vote": not why_not_vote(sides),
        "fault": _fault_frame(battle.seats[0], faults) if faults and not complete else None,
    }


def _fault_frame(seat: SeatContext, times: int) -> Frame:
    may_give_up = times >= services.faults_before_giving_up(seat)
    say = _("At least one chatbot could not answer. Your work is safe, and this does not affect your pay.")
    return {"say": say, "may_give_up": may_give_up}


def _rounds(seat: SeatContext, left: list[SavedTurn], right: list[SavedTurn]) -> list[dict[str, Any]]:
    """Each message with both replies; None in place of replies that are not both there."""
    replies = [{turn.position: turn.text for turn in side if turn.speaker == "bot"} for side in (left, right)]
    return [
        {
            "key": turn.key,
            "text": turn.text,
            "replies": _replies([side.get(turn.position + 1) for side in replies], markdown=seat.markdown),
        }
        for turn in left
        if turn.speaker == "human"
    ]


def _replies(texts: list[str | None], *, markdown: bool) -> list[dict[str, Any]] | None:
    if any(text is None for text in texts):
        return None
    return [{"text": text, "html": as_html(text, top=3) if markdown and text else None} for text in texts]
