"""Tables of conversations: dialogues, seats, turns, faults, and reading material."""

from turnwise.dialogues.models.conversations import Dialogue, Seat, TranscriptImport, packed
from turnwise.dialogues.models.turns import (
    MOST_USES,
    ArticleUse,
    Fault,
    Material,
    OperatorReply,
    ReadingSet,
    ReplyVersion,
    Turn,
    Typing,
)

__all__ = [
    "MOST_USES", "ArticleUse", "Dialogue", "Fault", "Material", "OperatorReply", "ReadingSet",
    "ReplyVersion", "Seat", "TranscriptImport", "Turn", "Typing", "packed",
]  # fmt: skip
