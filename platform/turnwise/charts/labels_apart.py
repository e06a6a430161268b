"""Labels of points in a chart, each where it covers nothing else."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


# Points from the middle of a mark to that of its label, the nearest first.
_DISTANCES = (11, 14, 18, 23)
_DIRECTIONS = 16


def apart(
    at: tuple[float, float], size: tuple[float, float], taken: Iterable[Box], *, within: float
) -> Box | None:
    """The nearest place of a label beside a point at which it meets nothing that is taken; None without any.

    Args:
        at: the point.
        size: width and height of the label.
        taken: what it must not meet.
        within: side of the square, from the corner, that holds it.
    """
    boxes = list(taken)
    for box in _around(at, size):
        inside = min(box.left, box.bottom) >= 0 and max(box.right, box.top) <= within
        if inside and not any(box.meets(other) for other in boxes):
            return box
    return None


def _around(at: tuple[float, float], size: tuple[float, float]) -> Iterator[Box]:
    """Places from near to far; above to the right first, as one reads."""
    width, height = size
    for distance in _DISTANCES:
        for step in range(_DIRECTIONS):
            angle = math.pi / 4 + step * 2 * math.pi / _DIRECTIONS
            x, y = at[0] + distance * math.cos(angle), at[1] + distance * math.sin(angle)
            yield Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
