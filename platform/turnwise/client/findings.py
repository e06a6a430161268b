"""Findings of a rehearsal."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """An injected effect of a rehearsal, compared with the report.

    Attributes:
        holds: whether the report shows it; None: that cannot be told.
        words: the comparison in a sentence.
    """

    holds: bool | None
    words: str
