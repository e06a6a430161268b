"""How far a dialogue is and what may happen next: the protocol's rules, read off one row."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a dialogue with one worker and one bot.

    Attributes:
        turns: all turns so far, the opening included.
        opening_turns: 1 if position 0 is a scripted opening, which is neither counted nor labelled.
        bot_turns: the bot's counted turns.
        unlabelled: positions of counted bot turns that the worker has not labelled, ascending.
        human_seat: 0 if the worker speaks first.
        ended: no more turns or labels.
    """

    turns: int
    bot_turns: int
    unlabelled: tuple[int, ...]
    opening_turns: int
    min_turns: int
    max_turns: int
    label_each_turn: bool
    human_seat: int
    ended: bool

    @property
    def counted(self) -> int:
        return self.turns - min(self.turns, self.opening_turns)

    @property
    def labels_needed(self) -> int:
        return (self.min_turns + 1) // 2

    @property
    def labelled(self) -> int:
        return self.bot_turns - len(self.unlabelled)

    @property
    def reply_due(self) -> bool:
        return not self.ended and self.turns > 0 and self.turns % 2 != self.human_seat

    def is_labelled_turn(self, position: int) -> bool:
        """Whether this position is a turn of the bot that the worker has to label."""
        return self.opening_turns <= position < self.turns and position % 2 != self.human_seat

    def why_not_send(self) -> str:
        """Reason for which the worker may not send a message now; empty if they may."""
        if self.ended:
            return "ended"
        if self.turns % 2 != self.human_seat:
            return "not_your_turn"
        if self.counted + 2 > self.max_turns:  # a message and its reply must both fit
            return "turn_limit"
        if self.label_each_turn and self.unlabelled:
            return "label_first"
        return ""

    def why_not_finish(self) -> str:
        """Reason for which the conversation may not be finished now; empty if it may."""
        if self.ended:
            return "ended"
        if self.reply_due:
            return "reply_due"
        if self.unlabelled:
            return "unanswered"
        if self.bot_turns < self.labels_needed:
            return "too_early"
        return ""

    def hint(self) -> str:
        """What the worker should do next, in one sentence."""
        obstacle = self.why_not_send()
        if obstacle == "ended":
            return "This conversation has ended. Everything is saved."
        if obstacle == "not_your_turn":
            return "The chatbot is writing…"
        if self.unlabelled and (self.label_each_turn or obstacle == "turn_limit"):
            return "Answer the question under the last reply, then go on."
        if obstacle == "turn_limit":
            return "That was the last turn. You can finish now."
        if not self.why_not_finish():
            return "You can finish now, or go on talking."
        left = self.labels_needed - self.labelled
        return f"Write your next message. {left} more {'reply' if left == 1 else 'replies'} to go."

    def as_frame(self) -> dict[str, Any]:
        """What the page shows; it computes no rule by itself."""
        return {
            "turns": self.counted,
            "min_turns": self.min_turns,
            "max_turns": self.max_turns,
            "labelled": self.labelled,
            "labels_needed": self.labels_needed,
            "unlabelled": list(self.unlabelled),
            "thinking": self.reply_due,
            "may_send": not self.why_not_send(),
            "may_finish": not self.why_not_finish(),
            "hint": self.hint(),
        }
