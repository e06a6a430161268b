"""How much somebody may ask for: so much at once, and so much more every second."""

import time


class Allowance:
    """Spent one by one, and regained with time."""

    __slots__ = ("_at", "_left", "_most", "_per_second")

    def __init__(self, at_once: float, per_second: float) -> None:
        self._most = self._left = float(at_once)
        self._per_second = per_second
        self._at = time.monotonic()

    def spend(self) -> bool:
        """Spend one; False if none was left, which costs one as well."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second) - 1
        self._at = now
        return self._left >= 0
