"""A conversation of a file or a bundle."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from evaluation.conversation.exchanges import Conversation


@dataclass(frozen=True, slots=True)
class Recorded:
    """A conversation of a file.

    Attributes:
        line: where it begins, from 1; of a bundle, its number among the finished ones.
        bots: who of the speakers is a bot; all of them in self-play.
        turns: who spoke and what, oldest first.
        ratings: what people gave to the whole conversation, by scale.
    """

    line: int
    bots: tuple[str, ...]
    turns: Conversation
    ratings: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_self_play(self) -> bool:
        """Whether bots alone spoke."""
        return all(speaker in self.bots for speaker, _ in self.turns)
