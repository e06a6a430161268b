from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from chatbots.base import Passage
from turnwise.dialogues.progress import Progress, SeatAsk, due_with_turn
from turnwise.studies.asks import About, Party


@dataclass(frozen=True)
class Seated:
    """A person's seat in a conversation: what does not change while they talk.

    Attributes:
        number: of the seat; 0 speaks first.
        bot_id: who sits opposite, if it is a bot; None: a person.
        markdown: whether Markdown in the replies is shown formatted.
        asks: what this person is asked.
        partner_asks: what the person opposite is asked; empty if it is a bot.
        bot_material: what the bot opposite has read.
        shown: keys of the texts that this person has.
        is_operated: whether a person of the team answers in the place of the bot opposite.
    """

    dialogue_id: int
    public_id: UUID
    assignment_id: int
    participation_id: int
    study_id: int
    study_code: str
    worker_id: int
    bot_id: int | None
    number: int
    opening_turns: int
    min_turns: int
    max_turns: int
    markdown: bool
    asks: tuple[SeatAsk, ...]
    partner_asks: tuple[SeatAsk, ...] = field(default=())
    bot_material: tuple[Passage, ...] = ()
    shown: frozenset[str] = frozenset()
    is_operated: bool = False

    def ask(self, number: int) -> SeatAsk | None:
        """The ask with this number, if there is one of this seat."""
        return next((ask for ask in self.asks if ask.number == number), None)

    def party(self, ask: SeatAsk) -> Party:
        """Who this person is to what the ask is about."""
        of_a_person = ask.about == About.PARTNER_TURN and self.bot_id is None
        return Party.PARTNER if of_a_person else Party.CHATTER

    @property
    def room(self) -> int:
        """Turns that must fit for a message to be sent: it, and the reply of a bot."""
        return 1 if self.bot_id is None else 2

    @cached_property
    def due_with_own(self) -> dict[str, list[int]]:
        """By seat, the asks that fall due with a turn of this person."""
        mine = [_numbered(ask) for ask in self._asked_of_own]
        other = [_numbered(ask) for ask in due_with_turn(self.partner_asks, is_own=False)]
        return self._by_seat(mine, other)

    def due_with_exchange(self, position: int) -> dict[str, list[int]]:
        """By seat, what is due once this person's turn at the position and the bot's reply are saved."""
        own = [ask.due(position) for ask in self._asked_of_own]
        return self._by_seat([*own, *self._due_with_reply(position + 1)], [])

    def due_with_reply(self, position: int) -> dict[str, list[int]]:
        """By seat, what is due once the bot's turn at this position is saved."""
        return self._by_seat(self._due_with_reply(position), [])

    def due_before_reply(self, due: Sequence[int], position: int) -> tuple[int, ...]:
        """What this person had to answer until the bot's turn at this position added its asks."""
        added = self._due_with_reply(position)
        return tuple(code for code in due if code not in added)

    def _due_with_reply(self, position: int) -> list[int]:
        return [ask.due(position) for ask in self._asked_of_replies]

    @cached_property
    def _asked_of_own(self) -> list[SeatAsk]:
        return due_with_turn(self.asks, is_own=True)

    @cached_property
    def _asked_of_replies(self) -> list[SeatAsk]:
        return due_with_turn(self.asks, is_own=False)

    def _by_seat(self, mine: list[int], other: list[int]) -> dict[str, list[int]]:
        return {f"due_{self.number}": mine, f"due_{1 - self.number}": other}

    def progress(
        self,
        *,
        turns: int,
        due_0: Sequence[int],
        due_1: Sequence[int],
        ended: bool = False,
        closing: bool = False,
    ) -> Progress:
        return Progress(
            turns=turns,
            due=tuple(due_1 if self.number else due_0),
            opening_turns=self.opening_turns,
            min_turns=self.min_turns,
            max_turns=self.max_turns,
            seat=self.number,
            room=self.room,
            ended=ended,
            closing=closing,
        )

    def partners_progress(self, *, turns: int, due_0: Sequence[int], due_1: Sequence[int]) -> Progress:
        """How far the conversation is for the person opposite."""
        own = self.progress(turns=turns, due_0=due_0, due_1=due_1)
        return replace(own, due=tuple(due_0 if self.number else due_1), seat=1 - self.number)


def _numbered(ask: SeatAsk) -> int:
    return ask.number if ask.is_blocking else -ask.number - 1


class SavedTurn(NamedTuple):
    """A committed turn as the page shows it.

    Without its time: how a message and its reply are saved depends on the chatbot, and their times show it.
    """

    position: int
    speaker: str
    text: str
    counted: bool
    key: str | None


def asks_of(stored: Any) -> tuple[SeatAsk, ...]:
    """The asks as a seat's row holds them."""
    return tuple(SeatAsk.from_json(each) for each in stored)


def group_of(dialogue_id: int, seat: int) -> str:
    """The group of all tabs of one of the two who talk."""
    return f"dialogue.{dialogue_id}.{seat}"
