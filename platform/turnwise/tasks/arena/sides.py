"""Both sides of a battle with its votes, read together, and what the worker may do next."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from turnwise.dialogues import queries
from turnwise.dialogues.models import Battle
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.seat_context import SavedTurn
from turnwise.labels.models import Label
from turnwise.tasks.arena.asking import seconds_left
from turnwise.tasks.arena.battles import ArenaContext, OpenBattle

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
