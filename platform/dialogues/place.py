from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from dialogues.progress import Progress


@dataclass(frozen=True, slots=True)
class Place:
    """A worker's place in a dialogue with a bot: what does not change while they talk."""

    dialogue_id: int
    public_id: UUID
    assignment_id: int
    participation_id: int
    study_code: str
    worker_id: int
    bot_id: int
    seat: int
    opening_turns: int
    min_turns: int
    max_turns: int
    label_each_turn: bool
    question_set: str

    def progress(self, *, turns: int, bot_turns: int, unlabelled: list[int], ended: bool) -> Progress:
        return Progress(
            turns=turns,
            bot_turns=bot_turns,
            unlabelled=tuple(unlabelled),
            opening_turns=self.opening_turns,
            min_turns=self.min_turns,
            max_turns=self.max_turns,
            label_each_turn=self.label_each_turn,
            human_seat=self.seat,
            ended=ended,
        )


class SavedTurn(NamedTuple):
    """A committed turn as the page shows it."""

    position: int
    speaker: str
    text: str
    counted: bool
    key: str | None
    at: str
