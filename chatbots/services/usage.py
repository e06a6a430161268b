"""Numbers of tokens in the answers of services."""

from collections.abc import Callable, Mapping
from typing import Any

from chatbots.replies import Usage

MOST_TOKENS = 2**31 - 1
"""Largest number that is taken for a number of tokens."""


class TokenCounts:
    """Reads numbers of tokens from a service's answer; a remark names each that is none.

    Args:
        given: the object of the answer that holds them, of any type.
        remark: takes a remark.
    """

    def __init__(self, counts: Any, remark: Callable[[str], None]) -> None:
        self._given, self._remark = counts, remark
        if counts is not None and not isinstance(counts, Mapping):
            remark("the service reported usage that is no object")

    def number(self, *path: str) -> int | None:
        """Return the number at a path of names; None if there is none, or if it cannot be one of tokens."""
        value: Any = self._given
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS:
            return value
        self._remark(f"the service reported {str(value)[:40]!r} as {'.'.join(path)}, which is left out")
        return None


def total(*counts: int | None) -> int | None:
    """Add up the numbers that are known; None if none is."""
    numbers = [count for count in counts if count is not None]
    return sum(numbers) if numbers else None


def usage_or_none(usage: Usage) -> Usage | None:
    """Return None for a usage without any number."""
    return None if usage == Usage() else usage
