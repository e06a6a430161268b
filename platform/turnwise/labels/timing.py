"""How long a rater looked before answering, as their page measured it."""

from typing import Any, NamedTuple, Self

# A page that was left open for days says nothing about reading; it must still fit.
LONGEST_MS = 24 * 3600 * 1000


class Timing(NamedTuple):
    """Times in milliseconds; None where the page did not say.

    Attributes:
        shown_ms: how long the question was on screen before it was answered.
        answer_ms: from what is judged being shown to the answer.
    """

    shown_ms: int | None = None
    answer_ms: int | None = None

    @classmethod
    def of(cls, frame: dict[str, Any]) -> Self:
        """What the frame says; anything odd counts as unknown: an answer is worth more than its time."""
        told = frame.get("timing")
        if not isinstance(told, dict):
            return cls()
        return cls(_milliseconds(told.get("shown_ms")), _milliseconds(told.get("answer_ms")))


def _milliseconds(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return min(round(value), LONGEST_MS)
