"""How a message came to be written: characters pasted and time of typing, never which keys.

Only where the study says so to those who take part, before they agree.
"""

from typing import Any, NamedTuple, Self
from uuid import UUID

from turnwise.dialogues.models import Turn, Typing
from turnwise.live.text import MAX_TEXT

LONGEST_MS = 24 * 3600 * 1000


class Typed(NamedTuple):
    """As the page measured it.

    Attributes:
        pasted: characters that came in by pasting or dropping, whatever became of them.
        typing_ms: time between changes of the text, without pauses of two seconds or more.
    """

    pasted: int
    typing_ms: int

    @classmethod
    def of(cls, frame: dict[str, Any]) -> Self | None:
        """What the frame says; anything odd counts as unknown: a message is worth more than its rhythm."""
        told = frame.get("typed")
        if not isinstance(told, dict):
            return None
        pasted, ms = _number(told.get("pasted")), _number(told.get("ms"))
        if pasted is None or ms is None:
            return None
        return cls(min(pasted, 10 * MAX_TEXT), min(ms, LONGEST_MS))


def _number(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return round(value)


def note(dialogue_id: int, key: UUID, typed: Typed) -> None:
    """Keep it with the message of this key, if the study notes such. Safe to repeat: the first stays."""
    said = Turn.objects.filter(dialogue=dialogue_id, key=key, dialogue__study__notes_typing=True)
    turn = said.values_list("pk", flat=True).first()
    if turn is not None:
        own = Typing(turn_id=turn, pasted=typed.pasted, typing_ms=typed.typing_ms)
        Typing.objects.bulk_create([own], ignore_conflicts=True)
