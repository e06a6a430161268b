"""Keeps the log readable in an outage: one line per cause and interval, and how many more there were."""

import logging
import threading
import time

INTERVAL_SECONDS = 10.0
MOST_CAUSES = 1000

Cause = tuple[str, int, str, str]


class OncePerInterval(logging.Filter):
    """Lets the first record of a cause through; of the others of its interval, only their number is told.

    A cause is a logger with what it says before values are filled in, and the class of the error.
    """

    def __init__(self, interval: float = INTERVAL_SECONDS) -> None:
        """Take the seconds for which a cause is silent."""
        super().__init__()
        self._interval = interval
        self._lock = threading.Lock()
        self._seen: dict[Cause, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        cause, now = _cause(record), time.monotonic()
        with self._lock:
            since, untold = self._seen.get(cause, (-self._interval, 0))
            if now - since < self._interval:
                self._seen[cause] = (since, untold + 1)
                return False
            if len(self._seen) >= MOST_CAUSES:
                self._seen.clear()
            self._seen[cause] = (now, 0)
        if untold:
            record.msg, record.args = f"{record.getMessage()} ({untold} more like it meanwhile)", None
        return True


def _cause(record: logging.LogRecord) -> Cause:
    error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
    return record.name, record.levelno, str(record.msg), error
