"""How far a conversation is for one who talks, and what they may do next: the rules, read off one row.

What those who talk are asked, as a conversation carries it from its beginning, and what of it is due.

An annotation that is due is one number, so that the statement that saves a turn or a label keeps the list of
each seat in the row that it locks anyway. Of turn p and ask n it is `32 p + n`; an ask about the whole
conversation has p = 1000. What must be answered before the next message stands as that number, anything else
as `-number - 1`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

from django.utils.translation import get_language, gettext_lazy, ngettext

from turnwise.studies.asks import MOST_ASKS, About, Moment

WHOLE = 1000


@dataclass(frozen=True, slots=True)
class SeatAsk:
    """What one who talks is asked.

    Attributes:
        pk: of the ask of the study.
        number: in the study, from 0.
        question_set: key of the questions.
        about: their own turns, the partner's, or the whole conversation.
        moment: when it is asked.
        required: whether the conversation cannot be finished without it.
    """

    pk: int
    number: int
    question_set: str
    about: About
    moment: Moment
    required: bool

    @property
    def is_blocking(self) -> bool:
        """Whether the next message waits for it."""
        return self.required and self.moment == Moment.EACH_TURN and self.about != About.DIALOGUE

    def due(self, position: int) -> int:
        """What is due of it at this position."""
        code = MOST_ASKS * position + self.number
        return code if self.is_blocking else -code - 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        return cls(**{**stored, "about": About(stored["about"]), "moment": Moment(stored["moment"])})


def positions_and_asks(due: Iterable[int]) -> list[tuple[int, int]]:
    """(turn or WHOLE, number of the ask) of what is due, in the order of the turns."""
    return sorted([divmod(code if code >= 0 else ~code, MOST_ASKS) for code in due])


def due_at_the_end(asks: Iterable[SeatAsk]) -> list[int]:
    """What is due of the whole conversation, from its beginning."""
    return [ask.due(WHOLE) for ask in due_with_the_whole(asks)]


def due_with_the_whole(asks: Iterable[SeatAsk]) -> list[SeatAsk]:
    """The asks that are due of the whole conversation."""
    return [ask for ask in asks if ask.required and ask.about == About.DIALOGUE]


def due_with_turn(asks: Sequence[SeatAsk], *, is_own: bool) -> list[SeatAsk]:
    """The asks that are due once a turn of one's own, or of the partner, is saved."""
    about = About.OWN_TURN if is_own else About.PARTNER_TURN
    return [ask for ask in asks if ask.required and ask.about == about]


@dataclass(frozen=True)
class Progress:
    """The state of a conversation as one of its two seats has it.

    Attributes:
        turns: all turns so far, the opening included.
        due: what this seat still has to annotate, as in `turnwise.dialogues.progress`.
        opening_turns: 1 if position 0 is a scripted opening, which is neither counted nor labelled.
        seat: 0 if this person speaks first.
        room: turns that must fit for a message to be sent: 2 if a bot replies, 1 if a person does.
        ended: no more turns or labels.
        closing: the person opposite has finished; no more turns, but labels.
    """

    turns: int
    due: tuple[int, ...]
    opening_turns: int
    min_turns: int
    max_turns: int
    seat: int
    room: int
    ended: bool
    closing: bool = False

    @property
    def counted(self) -> int:
        return self.turns - min(self.turns, self.opening_turns)

    @cached_property
    def due_annotations(self) -> list[tuple[int, int]]:
        """(position or WHOLE, number of the ask) of everything that is due, in the order of the turns."""
        return positions_and_asks(self.due)

    @cached_property
    def unlabelled(self) -> tuple[int, ...]:
        """Positions of turns with something due, ascending."""
        positions = [position for position, _ in self.due_annotations if position != WHOLE]
        return tuple(dict.fromkeys(positions))  # they ascend already

    @property
    def is_blocked(self) -> bool:
        """Whether something has to be answered before the next message."""
        return max(self.due, default=-1) >= 0

    @property
    def with_bot(self) -> bool:
        return self.room == 2

    @property
    def labels_needed(self) -> int:
        """Replies that the conversation needs."""
        return (self.min_turns + 1) // 2

    @property
    def replies(self) -> int:
        """Counted turns of the partner."""
        return (self.turns + self.seat) // 2 - (min(self.turns, self.opening_turns) + self.seat) // 2

    @property
    def labelled(self) -> int:
        return self.replies - len(self.unlabelled)

    @property
    def is_long_enough(self) -> bool:
        # A bot has replied to everything; of two people one may have said less.
        return self.counted >= self.min_turns or (self.with_bot and self.replies >= self.labels_needed)

    @property
    def reply_due(self) -> bool:
        return not self.ended and self.turns > 0 and self.turns % 2 != self.seat

    @property
    def awaits_partner(self) -> bool:
        """Whether a turn of the partner is still to come, and this person can only wait for it."""
        if self.with_bot:
            return self.reply_due
        return self.turns % 2 != self.seat and not (self.ended or self.closing or self.is_full)

    @property
    def is_full(self) -> bool:
        """Whether no further message fits, whoever's turn it is."""
        return self.counted >= self.max_turns

    def is_partners_turn(self, position: int) -> bool:
        """Whether this position is a counted turn of the partner."""
        return self.opening_turns <= position < self.turns and position % 2 != self.seat

    def why_not_send(self) -> str:
        """Reason for which this person may not send a message now; empty if they may."""
        if self.ended:
            return "ended"
        if self.closing:
            return "partner_finished"
        if self.turns % 2 != self.seat and (self.with_bot or not self.is_full):
            return "not_your_turn"
        if self.counted + self.room > self.max_turns:
            return "turn_limit"
        if self.is_blocked:
            return "label_first"
        return ""

    def why_not_finish(self) -> str:
        """Reason for which this person may not finish now; empty if they may."""
        if self.ended:
            return "ended"
        if self.reply_due and self.with_bot:
            return "reply_due"
        if self.unlabelled:
            return "unanswered"
        if self.due:
            return "rate_first"
        if not self.is_long_enough and not self.closing:
            return "too_early"
        return ""

    def next_step(self, obstacle: str) -> tuple[str, int]:
        """What this person should do next, as `_in_words` knows it; `obstacle` is why they may not send."""
        if obstacle == "ended":
            return "ended", 0
        if obstacle == "not_your_turn":
            return ("await bot" if self.with_bot else "await partner"), 0
        if self.unlabelled and (self.is_blocked or obstacle in ("turn_limit", "partner_finished")):
            return "answer", 0
        if self.due and self.is_long_enough and obstacle:
            return "rate", 0
        if obstacle in ("turn_limit", "partner_finished"):
            return obstacle, 0
        if self.is_long_enough:
            return ("answer or go on" if self.unlabelled else "finish or go on"), 0
        if self.with_bot:
            return "replies to go", self.labels_needed - self.replies
        return "messages to go", self.min_turns - self.counted

    @cached_property
    def frame(self) -> dict[str, Any]:
        """What the page shows; it computes no rule by itself. Not to be changed: others get the same one."""
        return _frame(self, get_language())

    @property
    def beyond_first_ask(self) -> list[dict[str, int | None]]:
        """What is due beside the first ask about turns, of which `unlabelled` tells."""
        return [
            {"position": None if position == WHOLE else position, "ask": ask}
            for position, ask in self.due_annotations
            if ask or position == WHOLE
        ]


# Each turn tells one. It follows from few numbers, which many conversations of a study have in common.
@lru_cache(maxsize=2048)
def _frame(at: Progress, language: str | None) -> dict[str, Any]:
    """What the page shows of how far it is, in this language, which is the active one."""
    obstacle = at.why_not_send()
    return {
        "turns": at.counted,
        "min_turns": at.min_turns,
        "max_turns": at.max_turns,
        "labelled": at.labelled,
        "labels_needed": at.labels_needed,
        "unlabelled": list(at.unlabelled),
        "due": at.beyond_first_ask,
        "thinking": at.awaits_partner,
        "room": at.room,
        "closing": at.closing,
        "long_enough": at.is_long_enough or at.closing,
        "may_send": not obstacle,
        "may_finish": not at.why_not_finish(),
        "hint": _in_words(language, *at.next_step(obstacle)),
    }


# Many frames tell one of these; to look a plural up in a catalog takes longer than all else that it tells.
@lru_cache(maxsize=4096)
def _in_words(language: str | None, step: str, left: int) -> str:
    """What to do next, in one sentence of the language, which is the active one."""
    if step in _STEPS:
        return str(_STEPS[step])
    if step == "replies to go":
        several = ngettext(
            "Write your next message. %(n)d more reply to go.",
            "Write your next message. %(n)d more replies to go.",
            left,
        )
    else:
        several = ngettext(
            "Write your next message. %(n)d more message between you, then you can finish.",
            "Write your next message. %(n)d more messages between you, then you can finish.",
            left,
        )
    return several % {"n": left}


_STEPS = {
    "ended": gettext_lazy("This conversation has ended. Everything is saved."),
    "await bot": gettext_lazy("The chatbot is writing…"),
    "await partner": gettext_lazy("Wait for your partner's message."),
    "answer": gettext_lazy("Answer the question under the last reply, then continue."),
    "rate": gettext_lazy("Answer the questions about the whole conversation, then finish."),
    "turn_limit": gettext_lazy("That was the last turn. You can finish now."),
    "partner_finished": gettext_lazy("Your partner has finished. You can finish now."),
    "finish or go on": gettext_lazy("You can finish now, or keep talking."),
    "answer or go on": gettext_lazy(
        "You can keep talking. Before you finish, answer what is still open above."
    ),
}
