"""How large a collection is: the paper's table 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from chatbots.knowledge.conversations import Conversation

ALL = "all"


@dataclass(frozen=True, slots=True)
class Counts:
    """Of some conversations; words are what blanks separate.

    Attributes:
        conversations: how many.
        utterances: in all of them.
        words: in all utterances.
    """

    conversations: int
    utterances: int
    words: int

    @property
    def turns(self) -> float:
        """Utterances per conversation, 0 if there are none."""
        return self.utterances / self.conversations if self.conversations else 0.0

    @property
    def length(self) -> float:
        """Words per utterance, 0 if there are none."""
        return self.words / self.utterances if self.utterances else 0.0

    def to_dict(self) -> dict[str, float]:
        """All figures, for JSON."""
        return asdict(self) | {"turns": self.turns, "length": self.length}


def counts(conversations: Sequence[Conversation]) -> Counts:
    """Count some conversations."""
    texts = [text for each in conversations for _, text in each.turns]
    return Counts(len(conversations), len(texts), sum(len(text.split()) for text in texts))


def by_configuration(parts: Mapping[str, Sequence[Conversation]]) -> dict[str, dict[str, Counts]]:
    """Counts of each part, by configuration and of all of them, as table 2 has them."""
    names = sorted({each.configuration for of in parts.values() for each in of})
    return {
        part: {
            **{name: counts([each for each in of if each.configuration == name]) for name in names},
            ALL: counts(of),
        }
        for part, of in parts.items()
    }
