"""Tables of conversations: dialogues, seats, turns, faults, and reading material."""

from turnwise.dialogues.models.conversations import Dialogue, Seat, TranscriptImport, packed
from turnwise.dialogues.models.turns import (
    MOST_USES,
    ArticleUse,
    Fault,
    Material,
    OperatorReply,
    ReadingSet,
    Turn,
    Typing,
)

__all__ = [
    "MOST_USES", "ArticleUse", "Dialogue", "Fault", "Material", "OperatorReply", "ReadingSet", "Seat",
    "TranscriptImport", "Turn", "Typing", "packed",
]  # fmt: skip
