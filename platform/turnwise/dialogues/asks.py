"""What those who talk are asked, as a conversation carries it from its beginning, and what of it is due.

An annotation that is due is one number, so that the statement that saves a turn or a label keeps the list of
each seat in the row that it locks anyway. Of turn p and ask n it is `32 p + n`; an ask about the whole
conversation has p = 1000. What must be answered before the next message stands as that number, anything else
as `-number - 1`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

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
