"""Facts about one seat of a conversation that stay the same while its person talks."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypedDict
from uuid import UUID

from chatbots.base import Passage, Setting
from evaluation.texts.lengths import MAX_MESSAGE_CHARS, MAX_REPLY_CHARS
from turnwise.dialogues.progress import Progress, SeatAsk, due_with_turn
from turnwise.studies.asks import About, Party
from turnwise.studies.models import ReplyDisplay


@dataclass(frozen=True)
class SeatContext:
    """A person's seat in a conversation: the facts that do not change while they talk.

    Attributes:
        number: seat number; 0 speaks first.
        bot_id: the bot in the other seat; None if a person sits there.
        markdown: Markdown in the replies is shown formatted.
        asks: asks of this person.
        partner_asks: asks of the partner; empty for a bot.
        bot_material: texts that the bot has read.
        material_keys: keys of the texts that this person has to read.
        is_operated: a team member answers in the bot's place.
        reply_display: when the bot's replies are shown.
        reply_pace: characters per second of replies at a fixed pace.
        may_stop_replies: this person may stop a reply that grows.
        max_reply_versions: replies of the bot to one message that this person may ask for in all.
        message_limit: longest message of this person, in code points.
        reply_limit: longest reply of the bot that is stored, in code points.
        stores_reasoning: the bot's reasoning is stored with its replies.
        setting: values of the variables of system prompts.
        takes_pictures: this person may send a picture with a message.
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
    material_keys: frozenset[str] = frozenset()
    is_operated: bool = False
    reply_display: ReplyDisplay = ReplyDisplay.WHEN_DONE
    reply_pace: int = 60
    may_stop_replies: bool = False
    max_reply_versions: int = 1
    message_limit: int = MAX_MESSAGE_CHARS
    reply_limit: int = MAX_REPLY_CHARS
    stores_reasoning: bool = False
    setting: Setting = field(default_factory=Setting)
    takes_pictures: bool = False

    @cached_property
    def dialogue_key(self) -> str:
        """Name of the conversation for bots."""
        return str(self.public_id)

    def ask(self, number: int) -> SeatAsk | None:
        """The seat's ask with this number; None if it has none."""
        return next((ask for ask in self.asks if ask.number == number), None)

    def rater_role(self, ask: SeatAsk) -> Party:
        """Rater role of this person for an ask."""
        of_a_person = ask.about == About.PARTNER_TURN and self.bot_id is None
        return Party.PARTNER if of_a_person else Party.CHATTER

    @property
    def replies_grow(self) -> bool:
        """True if the bot's replies are shown before they are complete; an operator's never are."""
        is_bot = self.bot_id is not None and not self.is_operated
        return is_bot and self.reply_display != ReplyDisplay.WHEN_DONE

    @property
    def turns_needed(self) -> int:
        """Turns that must still fit for a message to be sent: the message, and a bot's reply."""
        return 1 if self.bot_id is None else 2

    @cached_property
    def due_with_message(self) -> dict[str, list[int]]:
        """Asks that become due with a turn of this person, for each seat."""
        mine = [_numbered(ask) for ask in self._asks_about_messages]
        other = [_numbered(ask) for ask in due_with_turn(self.partner_asks, is_own=False)]
        return self._by_seat(mine, other)

    def due_with_exchange(self, position: int) -> dict[str, list[int]]:
        """Annotations that become due with a turn at `position` and the bot's reply, for each seat."""
        of_seat = [ask.due(position) for ask in self._asks_about_messages]
        return self._by_seat([*of_seat, *self._due_with_reply(position + 1)], [])

    def due_with_reply(self, position: int) -> dict[str, list[int]]:
        """Annotations that become due with the bot's turn at this position, for each seat."""
        return self._by_seat(self._due_with_reply(position), [])

    def due_before_reply(self, due: Sequence[int], position: int) -> tuple[int, ...]:
        """The due annotations without those that the bot's turn at this position has added."""
        added = self._due_with_reply(position)
        return tuple([code for code in due if code not in added])

    def _due_with_reply(self, position: int) -> list[int]:
        return [ask.due(position) for ask in self._asks_about_replies]

    @cached_property
    def _asks_about_messages(self) -> list[SeatAsk]:
        return due_with_turn(self.asks, is_own=True)

    @cached_property
    def _asks_about_replies(self) -> list[SeatAsk]:
        return due_with_turn(self.asks, is_own=False)

    def _by_seat(self, mine: list[int], other: list[int]) -> dict[str, list[int]]:
        return {f"due_{self.number}": mine, f"due_{1 - self.number}": other}

    def progress_before(self, progress: Progress, position: int) -> Progress:
        """Progress as it was before the bot's last turn, which is at this position."""
        return progress._replace(turns=position, due=self.due_before_reply(progress.due, position))

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
            turns_needed=self.turns_needed,
            ended=ended,
            closing=closing,
        )

    def partners_progress(self, *, turns: int, due_0: Sequence[int], due_1: Sequence[int]) -> Progress:
        """Progress of the conversation for the partner's seat."""
        of_seat = self.progress(turns=turns, due_0=due_0, due_1=due_1)
        return of_seat._replace(due=tuple(due_0 if self.number else due_1), seat=1 - self.number)


def _numbered(ask: SeatAsk) -> int:
    return ask.number if ask.is_blocking else -ask.number - 1


class PictureInfo(TypedDict):
    """A picture of a message as frames carry it between processes; `id` is None once it is erased."""

    id: int | None
    width: int
    height: int
    description: str


class SavedTurn(NamedTuple):
    """A committed turn as the page shows it.

    It has no time: the times of a message and its reply would show how quickly the chatbot answers.
    """

    position: int
    speaker: str
    text: str
    counted: bool
    key: str | None
    picture: PictureInfo | None = None


def asks_of(stored: Any) -> tuple[SeatAsk, ...]:
    """Read the asks from the JSON of a seat's row."""
    return tuple(SeatAsk.from_json(each) for each in stored)


def group_of(dialogue_id: int, seat: int) -> str:
    """Channel group of all tabs of one seat."""
    return f"dialogue.{dialogue_id}.{seat}"
