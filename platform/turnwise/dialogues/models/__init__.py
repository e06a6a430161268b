"""Tables of conversations: dialogues, seats, turns, faults, and reading material."""

from turnwise.dialogues.models.battles import Battle, sides_of
from turnwise.dialogues.models.conversations import Dialogue, Seat, TranscriptImport, packed
from turnwise.dialogues.models.pictures import MessagePicture, Picture
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
    "MOST_USES", "ArticleUse", "Battle", "Dialogue", "Fault", "Material", "MessagePicture", "OperatorReply",
    "Picture", "ReadingSet", "ReplyVersion", "Seat", "TranscriptImport", "Turn", "Typing", "packed",
    "sides_of",
]  # fmt: skip
