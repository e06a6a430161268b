"""The queue of a resident bot: a line for each study, served in turn."""

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Lines(Generic[Item]):
    """Requests of several parties, first come first served within a party, the parties in turn.

    A study with five hundred workers then delays one with three by at most one request each. Not safe for
    threads: its owner locks. Every step takes the same time however many wait, but for `remove`.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lines: OrderedDict[Hashable, deque[Item]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        """How many wait in all lines."""
        return self._length

    def __iter__(self) -> Iterator[Item]:
        """Everything that waits, line by line."""
        return (item for line in self._lines.values() for item in line)

    def append(self, party: Hashable, item: Item) -> None:
        """Queue `item` at the end of its party's line."""
        self._lines.setdefault(party, deque()).append(item)
        self._length += 1

    def popleft(self) -> Item:
        """Take the first item of the party whose turn it is; the party goes to the end.

        Raises:
            KeyError: nothing waits.
        """
        party, line = self._lines.popitem(last=False)
        item = line.popleft()
        if line:
            self._lines[party] = line
        self._length -= 1
        return item

    def remove(self, party: Hashable, item: Item) -> None:
        """Take `item` out of its party's line.

        Raises:
            KeyError: the party has no line.
            ValueError: it does not wait in it.
        """
        line = self._lines[party]
        line.remove(item)
        if not line:
            del self._lines[party]
        self._length -= 1

    def clear(self) -> None:
        """Forget everything that waits."""
        self._lines.clear()
        self._length = 0
