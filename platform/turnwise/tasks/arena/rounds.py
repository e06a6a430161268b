"""One message to both bots at once: saving it on both sides, and what the page may show.

A reply is shown only once the other bot has answered, too: so neither its speed nor its failure tells the two
apart. A study may give that up and show both replies as the bots write them. `asking.py` asks the bots.
"""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.crowd.places.reservation import keep_place
from turnwise.dialogues import growing_replies, queries, services
from turnwise.dialogues.models import Turn
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.seat_context import SavedTurn, SeatContext
from turnwise.dialogues.turn_steps import SAY
from turnwise.live.frames import Frame, RefusedError
from turnwise.live.markdown import as_html
from turnwise.tasks.arena.battles import ArenaContext, OpenBattle, lock_batch, open_battle, refusal
from turnwise.tasks.arena.sides import Sides, lock_row, read_sides


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
    lock_row(found)
    _refuse_before_vote(context, found, key)
    for seat in found.seats:
        _save_on_side(seat, text, key)
    keep_place(context.assignment_id)
    return found


def _refuse_before_vote(context: ArenaContext, battle: OpenBattle, key: UUID) -> None:
    """Refuse a message while a vote is due, unless it was saved before."""
    is_saved = Turn.objects.filter(dialogue=battle.battle.left_id, key=key).exists()
    if context.votes_each and not is_saved and read_sides(context, battle).is_vote_due:
        raise RefusedError("label_first")


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


def rounds_frame(battle: OpenBattle, sides: Sides) -> Frame:
    """The battle as the page shows it; unless replies grow, the newest are left out until both are there."""
    failures, complete, obstacle = sides.failures, sides.is_complete, sides.why_not_send()
    number, exchanges = battle.battle.number, sides.exchanges
    return {
        "battle": number,
        "exchange": exchanges,
        "turns": _rounds(battle.seats[0], *(turns for turns, _progress, _faults in sides.both)),
        "thinking": not complete and not failures,
        "may_send": not obstacle,
        "is_full": obstacle == "turn_limit",
        "may_vote": not sides.why_not_vote() and not sides.is_voted,
        "may_begin_anew": sides.may_begin_anew,
        "fault": _fault_frame(battle.seats[0], failures) if failures and not complete else None,
        "growing": _growing_frames(battle.seats, sides),
        "annotations": [
            {"battle": number, "exchange": after or exchanges, "ask": ask, "answers": answers}
            for after, given in sides.votes.items()
            for ask, answers in given.items()
        ],
    }


def _growing_frames(seats: Sequence[SeatContext], sides: Sides) -> list[Frame]:
    """Texts so far of the replies that grow, for a tab that opens now."""
    positions = [progress.turns for _turns, progress, _faults in sides.both]
    frames = map(growing_replies.frame_of, seats, positions)
    return [frame | {"side": side} for side, frame in enumerate(frames) if frame]


def _fault_frame(seat: SeatContext, times: int) -> Frame:
    may_give_up = times >= services.faults_before_giving_up(seat)
    say = _("At least one chatbot could not answer. Your work is safe, and this does not affect your pay.")
    return {"say": say, "failures": times, "may_give_up": may_give_up}


def _rounds(seat: SeatContext, left: list[SavedTurn], right: list[SavedTurn]) -> list[dict[str, Any]]:
    """Each message with both replies; None in place of replies that are not both there.

    If replies grow, None stands for each reply that is not there.
    """
    replies = [{turn.position: turn.text for turn in side if turn.speaker == "bot"} for side in (left, right)]
    return [
        {
            "key": turn.key,
            "text": turn.text,
            "replies": _replies(
                [side.get(turn.position + 1) for side in replies], seat.markdown, grow=seat.replies_grow
            ),
        }
        for turn in left
        if turn.speaker == "human"
    ]


def _replies(texts: list[str | None], markdown: bool, *, grow: bool) -> list[dict[str, Any] | None] | None:
    if not grow and any(text is None for text in texts):
        return None
    return [
        None if text is None else {"text": text, "html": as_html(text, top=3) if markdown and text else None}
        for text in texts
    ]
