"""Progress of a conversation for one seat: the rules of what its person may do next, and what is due.

A due annotation is stored as one number, so that the statement that saves a turn or a label can update the
lists of both seats in the row that it locks anyway. For turn p and ask n the number is `32 p + n`; an ask
about the whole conversation has p = 1000. An annotation that blocks the next message is stored as this
number, any other as `-number - 1`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Self

from django.utils.translation import get_language, gettext_lazy, ngettext

from turnwise.studies.asks import MOST_ASKS, About, Moment

WHOLE = 1000


@dataclass(frozen=True, slots=True)
class SeatAsk:
    """One ask of a person in a conversation, fixed when the conversation begins.

    Attributes:
        pk: primary key of the study's ask.
        number: number of the ask in the study, from 0.
        question_set: key of the question set.
        about: the person's turns, the partner's turns, or the whole conversation.
        moment: when it is asked.
        required: the conversation cannot be finished without an answer.
    """

    pk: int
    number: int
    question_set: str
    about: About
    moment: Moment
    required: bool

    @property
    def is_blocking(self) -> bool:
        """True if the next message has to wait for the answer."""
        return self.required and self.moment == Moment.EACH_TURN and self.about != About.DIALOGUE

    def due(self, position: int) -> int:
        """The number that stands for a due answer at this position."""
        code = MOST_ASKS * position + self.number
        return code if self.is_blocking else -code - 1

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        return cls(**{**stored, "about": About(stored["about"]), "moment": Moment(stored["moment"])})


def positions_and_asks(due: Iterable[int]) -> list[tuple[int, int]]:
    """Decode due annotations to (position or WHOLE, number of the ask), in the order of the turns."""
    return sorted([divmod(code if code >= 0 else ~code, MOST_ASKS) for code in due])


def due_at_the_end(asks: Iterable[SeatAsk]) -> list[int]:
    """Due numbers of the asks about the whole conversation, which are due from its beginning."""
    return [ask.due(WHOLE) for ask in due_with_the_whole(asks)]


def due_with_the_whole(asks: Iterable[SeatAsk]) -> list[SeatAsk]:
    """The required asks about the whole conversation."""
    return [ask for ask in asks if ask.required and ask.about == About.DIALOGUE]


def due_with_turn(asks: Sequence[SeatAsk], *, is_own: bool) -> list[SeatAsk]:
    """The required asks about a turn of this person (`is_own`) or of the partner."""
    about = About.OWN_TURN if is_own else About.PARTNER_TURN
    return [ask for ask in asks if ask.required and ask.about == about]


class Progress(NamedTuple):
    """State of a conversation for one of its two seats. A named tuple: every turn makes and compares two.

    Attributes:
        turns: all turns so far, including the opening.
        due: due annotations of this seat, as numbers (see the module).
        opening_turns: 1 if position 0 is a scripted opening, which is neither counted nor labelled.
        seat: 0 if this person speaks first.
        turns_needed: turns that must still fit for a message: 2 if a bot replies, 1 if a person does.
        ended: no more turns or labels are accepted.
        closing: the partner has finished; no more turns are accepted, but labels are.
    """

    turns: int
    due: tuple[int, ...]
    opening_turns: int
    min_turns: int
    max_turns: int
    seat: int
    turns_needed: int
    ended: bool
    closing: bool = False

    @property
    def counted(self) -> int:
        return self.turns - min(self.turns, self.opening_turns)

    @property
    def due_annotations(self) -> list[tuple[int, int]]:
        """(position or WHOLE, number of the ask) of every due annotation, in the order of the turns."""
        return positions_and_asks(self.due)

    @property
    def unlabelled(self) -> tuple[int, ...]:
        """Positions of turns that lack a due annotation, ascending."""
        positions = [position for position, _ in self.due_annotations if position != WHOLE]
        return tuple(dict.fromkeys(positions))  # they ascend already

    @property
    def is_blocked(self) -> bool:
        """True if an answer is required before the next message."""
        return max(self.due, default=-1) >= 0

    @property
    def with_bot(self) -> bool:
        return self.turns_needed == 2

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
        # A bot replies to every message; one of two people may have sent fewer messages.
        return self.counted >= self.min_turns or (self.with_bot and self.replies >= self.labels_needed)

    @property
    def reply_due(self) -> bool:
        return not self.ended and self.turns > 0 and self.turns % 2 != self.seat

    @property
    def awaits_partner(self) -> bool:
        """True if this person can only wait for the partner's next turn."""
        if self.with_bot:
            return self.reply_due
        return self.turns % 2 != self.seat and not (self.ended or self.closing or self.is_full)

    @property
    def is_full(self) -> bool:
        """True if the conversation has reached its most turns."""
        return self.counted >= self.max_turns

    def is_partners_turn(self, position: int) -> bool:
        """True if this position is a counted turn of the partner."""
        return self.opening_turns <= position < self.turns and position % 2 != self.seat

    def why_not_send(self) -> str:
        """Reason for which this person may not send a message now; empty if they may."""
        if self.ended:
            return "ended"
        if self.closing:
            return "partner_finished"
        if self.turns % 2 != self.seat and (self.with_bot or not self.is_full):
            return "not_your_turn"
        if self.counted + self.turns_needed > self.max_turns:
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
        """Key of the next step's text in `_hint`, and a number for it; `obstacle` is from `why_not_send`."""
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

    @property
    def frame(self) -> dict[str, Any]:
        """Data for the page, which computes no rule by itself. Shared through a cache, so never modify it."""
        return _frame(self, get_language())

    @property
    def beyond_first_ask(self) -> list[dict[str, int | None]]:
        """Due annotations other than those of the first ask about turns, which `unlabelled` lists."""
        return [
            {"position": None if position == WHOLE else position, "ask": ask}
            for position, ask in self.due_annotations
            if ask or position == WHOLE
        ]


# Every turn sends one. It depends on few numbers, which many conversations of a study share.
@lru_cache(maxsize=2048)
def _frame(at: Progress, language: str | None) -> dict[str, Any]:
    """Data for the page in the given language, which must be the active one."""
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
        "room": at.turns_needed,
        "closing": at.closing,
        "long_enough": at.is_long_enough or at.closing,
        "may_send": not obstacle,
        "may_finish": not at.why_not_finish(),
        "hint": _hint(language, *at.next_step(obstacle)),
    }


# Many frames contain one of these, and looking up a plural costs more than the rest of the frame.
@lru_cache(maxsize=4096)
def _hint(language: str | None, step: str, left: int) -> str:
    """One sentence on what to do next, in the given language, which must be the active one."""
    if step in _HINTS:
        return str(_HINTS[step])
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


_HINTS = {
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
