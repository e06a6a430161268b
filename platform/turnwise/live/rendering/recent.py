"""Results of a pure function that were asked for lately, bounded by their size in characters."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value", bound=str)


class Recent(Generic[Key, Value]):
    """A cache of texts that drops what was asked for longest ago. Safe to share between threads."""

    def __init__(self, most_characters: int) -> None:
        """Keep values of this many characters in total."""
        self._most = most_characters
        self._size = 0
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def keep(self, key: Key, value: Value) -> Value:
        with self._lock:
            self._size += len(value) - len(self._values.pop(key, ""))
            self._values[key] = value
            while self._size > self._most and self._values:
                self._size -= len(self._values.popitem(last=False)[1])
        return value
