"""Both sides of a battle, read together: what the worker may do next, and one message to both at once.

A reply is shown only once the other bot has answered, too: so neither its speed nor its failure tells the two
apart. A study may give that up and show both replies as the bots write them. `asking.py` asks the bots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.crowd.places.reservation import keep_place
from turnwise.dialogues import growing_replies, queries, services
from turnwise.dialogues.models import Battle, Turn
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.seat_context import SavedTurn, SeatContext
from turnwise.dialogues.turn_steps import SAY
from turnwise.labels.models import Label
from turnwise.live.frames import Frame, RefusedError
from turnwise.live.markdown import as_html
from turnwise.tasks.arena.asking import seconds_left
from turnwise.tasks.arena.battles import ArenaContext, OpenBattle, lock_batch, open_battle, refusal

Side = tuple[list[SavedTurn], Progress, int]
"""Turns of one side, its progress, and how often its due reply has failed."""

TURNS_OF_EXCHANGE = 2
"""A message and its reply."""

Votes = Mapping[int, Mapping[int, dict[str, Any]]]
"""Saved answers by the number of exchanges that they are about (0: the whole battle) and of their ask."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Both sides of a battle, read together.

    Attributes:
        context: the worker's part in the study.
        left: the conversation on the left.
        right: the other one.
        votes: the battle's votes.
        leased_seconds: how long the bots are still being asked at least; 0 if nobody asks them.
    """

    context: ArenaContext
    left: Side
    right: Side
    votes: Votes
    leased_seconds: float

    @property
    def both(self) -> tuple[Side, Side]:
        return self.left, self.right

    @property
    def exchanges(self) -> int:
        """Number of the worker's messages."""
        return sum(turn.speaker == "human" for turn in self.left[0])

    @property
    def is_complete(self) -> bool:
        """True if both bots have answered every message."""
        return not any(progress.reply_due for _turns, progress, _faults in self.both)

    @property
    def failures(self) -> int:
        """How often the due reply that failed more often has failed; 0 while the bots are asked again."""
        return 0 if self.leased_seconds else max(faults for _turns, _progress, faults in self.both)

    @property
    def needs_asking(self) -> bool:
        """True if a reply is due that nobody asks for: the process that did so has ended."""
        return not (self.is_complete or self.leased_seconds or self.failures)

    @property
    def is_voted(self) -> bool:
        """True if all is answered about the conversation as it is now."""
        given = self.votes.get(votes_key(self.context, self.exchanges), {})
        return all(number in given for number in self.context.ask_numbers)

    @property
    def is_vote_due(self) -> bool:
        """True if the worker has to vote before the next message."""
        return self.context.votes_each and not self.why_not_vote() and not self.is_voted

    @property
    def may_begin_anew(self) -> bool:
        """True if the worker may leave these two bots, though they could go on with them."""
        return bool(self.context.votes_each and self.votes and self.is_complete and not self.is_vote_due)

    def why_not_vote(self) -> str:
        """Reason for which the worker may not vote now; empty if they may."""
        if not self.is_complete or not self.left[0]:
            return "vote_early"
        return "" if all(progress.is_long_enough for _turns, progress, _faults in self.both) else "too_early"

    def why_not_send(self) -> str:
        """Reason for which the worker may not write now; empty if they may."""
        if self.votes and not self.context.votes_each:
            return "ended"  # what is judged must not change between the questions
        if self.is_vote_due:
            return "label_first"
        return next(filter(None, (progress.why_not_send() for _turns, progress, _faults in self.both)), "")


def votes_key(context: ArenaContext, exchanges: int) -> int:
    """Key in `Votes` of the votes after so many exchanges."""
    return exchanges if context.votes_each else 0


def votes_in(battle: Battle, study_id: int) -> Votes:
    """All saved answers about a battle."""
    pair = {"pair__first_dialogue": battle.left_id, "pair__second_dialogue": battle.right_id}
    labels = Label.objects.filter(study=study_id, **pair).order_by("pk")
    votes: dict[int, dict[int, dict[str, Any]]] = {}
    for turns, ask, answers in labels.values_list("pair__turns", "ask__number", "answers"):
        votes.setdefault((turns or 0) // TURNS_OF_EXCHANGE, {})[ask] = answers
    return votes


def lock_row(battle: OpenBattle) -> Battle | None:
    """Lock the battle's row, so that no tab reads one side with a message and the other one without."""
    return Battle.objects.select_for_update(no_key=True).filter(pk=battle.battle.pk).first()


@transaction.atomic
def read_sides(context: ArenaContext, battle: OpenBattle) -> Sides:
    """Both sides as they are stored."""
    row = lock_row(battle)
    # Read before the failures, so that a reply in progress never looks like one that nobody asks for.
    leased = seconds_left(row.pk) if row else 0.0
    left, right = (queries.snapshot(seat) for seat in battle.seats)
    return Sides(context, left, right, votes_in(battle.battle, context.study_id), leased)


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
