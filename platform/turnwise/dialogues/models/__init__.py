"""Conversations: who talks in them, what is said, and what those who talk have to read."""

from turnwise.dialogues.models.conversations import Dialogue, Seat
from turnwise.dialogues.models.conversations import TranscriptImport, packed
from turnwise.dialogues.models.turns import MOST_USES, ArticleUse, Material, ReadingSet
from turnwise.dialogues.models.turns import Fault, OperatorReply, Turn, Typing

__all__ = [
    "MOST_USES", "ArticleUse", "Dialogue", "Fault", "Material", "OperatorReply", "ReadingSet", "Seat",
    "TranscriptImport", "Turn", "Typing", "packed",
]  # fmt: skip
