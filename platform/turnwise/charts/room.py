"""How much room a chart has, and names as they stand in it. Knows no Matplotlib."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

LONGEST_NAME = 34
# Pixels of the page for a point of the figure: its small print is then as large as the page's.
SCALE = 1.35
POINTS = 72  # in an inch
LINE = 0.19  # inches


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
    return round(SCALE * POINTS * inches)


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


def legend_lines(titles: Sequence[str], room: Room) -> int:
    """One if all titles stand beside each other, else one each."""
    letters = sum(columns_of(short(title)) + 4 for title in titles)
    return 1 if letters <= room.letters else len(titles)


def beside(titles: Sequence[str], room: Room) -> int:
    """How many titles of a legend stand beside each other."""
    return 1 if legend_lines(titles, room) > 1 else 3


def letter(number: int) -> str:
    """The sign of a published system, counted from 0."""
    return chr(ord("a") + number)


# Inches left of a square plane, below it and above it.
LEFT, BELOW, ABOVE = 0.62, 0.55, 0.15


def side(room: Room) -> float:
    """Inches of each side of a square plane."""
    return min(room.width - LEFT - 0.15, 4.2)


def square_height(names: int, room: Room) -> float:
    """Inches down of a square plane with a key of so many names: beside it, or below it on a phone."""
    needed, key = ABOVE + side(room) + BELOW, LINE * names + 0.1
    return max(needed, key) if room is WIDE else needed + key
