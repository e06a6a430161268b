"""What the report in a bundle states, against what the bundle's data give. Pure.

Everything that is stated must follow from the data. An older version may have had fewer figures, so one about
which its report is silent contradicts nothing. One that is stated and that this version does not compute is
confirmed by nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the report that the data does not give.

    Attributes:
        where: path of the value in report.json, such as `bots[0].cells[2].low`.
        stored: the value in report.json; None if it is not there.
        recomputed: the value that the data gives; None if there is none.
    """

    where: str
    stored: object
    recomputed: object


@dataclass(frozen=True, slots=True)
class Comparison:
    """A report beside the same report computed again.

    Attributes:
        values: how many numbers, sentences and reasons were compared.
        differences: those that are not exactly equal, and the rows of a list that only one of the two has.
        not_stated: by path, figures that were computed and that the stored report does not have.
        not_computed: by path, figures that the stored report has and that are not computed.
    """

    values: int = 0
    differences: list[Difference] = field(default_factory=list)
    not_stated: dict[str, object] = field(default_factory=dict)
    not_computed: dict[str, object] = field(default_factory=dict)


def compare(stored: dict[str, Any], computed: dict[str, Any]) -> Comparison:
    """Compare two reports as JSON has them, bit by bit."""
    found = Comparison()
    values = 0
    for where, theirs, ours in _beside(stored, computed, ""):
        if theirs is _ABSENT:
            found.not_stated.update(_leaves(ours, where))
        elif ours is _ABSENT:
            found.not_computed.update(_leaves(theirs, where))
        else:
            left, right = dict(_leaves(theirs, where)), dict(_leaves(ours, where))
            values += len(right)
            found.differences.extend(_differences(left, right))
    return replace(found, values=values)


def _differences(stored: Mapping[str, object], computed: Mapping[str, object]) -> Iterator[Difference]:
    for where in dict.fromkeys([*stored, *computed]):
        if where not in stored or where not in computed or stored[where] != computed[where]:
            yield Difference(where, stored.get(where), computed.get(where))


_ABSENT = object()
"""In place of a figure that one of the two documents does not name."""


def _beside(stored: object, computed: object, where: str) -> Iterator[tuple[str, object, object]]:
    """The parts of two JSON documents that stand in the same place, as far down as both have the same shape.

    Only what has a name can be absent: a list is stated as a whole.
    """
    if isinstance(stored, dict) and isinstance(computed, dict) and stored and computed:
        for key in dict.fromkeys([*stored, *computed]):
            at = f"{where}.{key}" if where else key
            yield from _beside(stored.get(key, _ABSENT), computed.get(key, _ABSENT), at)
    elif isinstance(stored, list) and isinstance(computed, list) and len(stored) == len(computed) > 0:
        for index, (theirs, ours) in enumerate(zip(stored, computed, strict=True)):
            yield from _beside(theirs, ours, f"{where}[{index}]")
    else:
        yield where, stored, computed


def _leaves(value: object, where: str) -> Iterator[tuple[str, object]]:
    """Every number, text and empty container of a JSON document with its path."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{where}.{key}" if where else key)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from _leaves(each, f"{where}[{index}]")
    else:
        yield where, value
