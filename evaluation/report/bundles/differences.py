"""Comparison of a stored report with its recomputation, value by value.

A report of an older version may have fewer figures, so a missing figure is no difference. A stated figure
that this version does not compute counts as not confirmed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the report that does not follow from the data.

    Attributes:
        where: path of the value in report.json, such as `bots[0].cells[2].low`.
        stored: the value in report.json; None if it is missing.
        recomputed: the value from the data; None if there is none.
    """

    where: str
    stored: object
    recomputed: object


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a stored report with its recomputation.

    Attributes:
        values: number of compared numbers, sentences and reasons.
        differences: unequal values, and rows of a list that only one of the two reports has.
        not_stated: by path, computed figures that the stored report lacks.
        not_computed: by path, stored figures that are not computed.
    """

    values: int = 0
    differences: list[Difference] = field(default_factory=list)
    not_stated: dict[str, object] = field(default_factory=dict)
    not_computed: dict[str, object] = field(default_factory=dict)


def compare(stored: dict[str, Any], computed: dict[str, Any]) -> Comparison:
    """Compare two reports in their JSON form; values must be exactly equal."""
    comparison = Comparison()
    values = 0
    for where, old, new in _matching_parts(stored, computed, ""):
        if old is _ABSENT:
            comparison.not_stated.update(_leaves(new, where))
        elif new is _ABSENT:
            comparison.not_computed.update(_leaves(old, where))
        else:
            left, right = dict(_leaves(old, where)), dict(_leaves(new, where))
            values += len(right)
            comparison.differences.extend(_differences(left, right))
    return replace(comparison, values=values)


def _differences(stored: Mapping[str, object], computed: Mapping[str, object]) -> Iterator[Difference]:
    for where in dict.fromkeys([*stored, *computed]):
        if where not in stored or where not in computed or stored[where] != computed[where]:
            yield Difference(where, stored.get(where), computed.get(where))


_ABSENT = object()
"""Stands for a figure that one of the two documents lacks."""


def _matching_parts(stored: object, computed: object, where: str) -> Iterator[tuple[str, object, object]]:
    """Yield the parts of two JSON documents with equal paths, down to where their shapes differ.

    Only members of objects can be absent; a list is compared as a whole.
    """
    if isinstance(stored, dict) and isinstance(computed, dict) and stored and computed:
        for key in dict.fromkeys([*stored, *computed]):
            at = f"{where}.{key}" if where else key
            yield from _matching_parts(stored.get(key, _ABSENT), computed.get(key, _ABSENT), at)
    elif isinstance(stored, list) and isinstance(computed, list) and len(stored) == len(computed) > 0:
        for index, (old, new) in enumerate(zip(stored, computed, strict=True)):
            yield from _matching_parts(old, new, f"{where}[{index}]")
    else:
        yield where, stored, computed


def _leaves(value: object, where: str) -> Iterator[tuple[str, object]]:
    """Yield every number, text and empty container of a JSON document with its path."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _leaves(each, f"{where}.{key}" if where else key)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from _leaves(each, f"{where}[{index}]")
    else:
        yield where, value
