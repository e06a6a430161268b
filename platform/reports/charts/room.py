"""How much room a chart has, and names as they stand in it. Knows no Matplotlib."""

import unicodedata
from dataclasses import dataclass

LONGEST_NAME = 34
# Pixels of the page for a point of the figure: its small print is then as large as the page's.
SCALE = 1.35
_POINTS = 72  # of an inch


@dataclass(frozen=True, slots=True)
class Room:
    """How much a figure has.

    Attributes:
        width: inches.
        letters: that stand beside each other over its whole width, in the size of names.
        longest: letters of a name.
        panels: beside each other.
    """

    width: float
    letters: int
    longest: int
    panels: int


WIDE = Room(7.6, 84, LONGEST_NAME, 3)
# A window of 320 pixels, less the margins of the page and of the chart's frame.
NARROW = Room(2.74, 31, 28, 1)


def pixels(inches: float) -> int:
    """How many pixels of the page a length of a figure takes."""
    return round(SCALE * _POINTS * inches)


def columns_of(text: str) -> int:
    """How wide a text is, in letters: those of East Asia are as wide as two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """A name as it stands in a figure; the table beside it has all of it."""
    if columns_of(name) <= longest:
        return name
    kept = len(name)
    while columns_of(name[:kept]) >= longest:
        kept -= 1
    return f"{name[:kept].rstrip()}…"
