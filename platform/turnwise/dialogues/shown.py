"""What one tab has been told of a conversation, kept as the next message needs it."""

from collections.abc import Iterable

from chatbots.base import Speaker, Turn
from turnwise.live.frames import Frame


class Shown:
    """The turns that a tab shows, oldest first and without a gap.

    Attributes:
        turns: as a bot gets them.
        keys: of the messages among them.
    """

    def __init__(self, told: Iterable[Frame] = ()) -> None:
        """Begin with these turns."""
        self.turns: list[Turn] = []
        self.keys: set[str] = set()
        for turn in told:
            self.add(turn)

    def __len__(self) -> int:
        return len(self.turns)

    def add(self, turn: Frame) -> None:
        """Note a turn that was told, unless it is known already or does not follow the last."""
        if turn["position"] != len(self.turns):
            return
        speaker = Speaker.HUMAN if turn["speaker"] == "human" else Speaker.BOT
        self.turns.append(Turn(speaker, turn["text"]))
        if turn["key"]:
            self.keys.add(turn["key"])
