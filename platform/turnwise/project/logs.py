"""Formats of the log. In an outage it has one line per cause and interval, with the number of others."""

import copy
import json
import logging
import re
import threading
import time
import traceback
from datetime import UTC, datetime
from typing import Any

from turnwise.live import log_context
from turnwise.live.losses import lost_service

INTERVAL_SECONDS = 10.0
MOST_CAUSES = 1000
LONGEST_MESSAGE = 400

Cause = tuple[str, int, str, str]

# What differs between two messages of the same cause: numbers, ids and addresses of objects.
VARYING = re.compile(r"0x[0-9a-f]+|[0-9a-f-]{32,36}|\d+")


class OneLine(logging.Formatter):
    """Formatter that writes a record in one line, without a traceback if PostgreSQL or Redis is down."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; the record stays as it is, for other handlers."""
        record = copy.copy(record)
        message = " ".join(record.getMessage().split())
        error = record.exc_info[1] if record.exc_info else None
        if down := lost_service(error):
            reason = str(error).strip().partition("\n")[0]
            message = message if reason in message else f"{message}: {reason}"
            message = f"{message[:LONGEST_MESSAGE]} ({down} is down)"
            record.exc_info = record.exc_text = None
        record.msg, record.args = message, None
        return super().format(record)


class JsonLine(logging.Formatter):
    """Formatter that writes a record as one JSON object, with the ids of `turnwise.live.log_context`.

    Errors have their class and the lines of code, without their text and without values: these may be what a
    person has written.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the object as one line."""
        error = record.exc_info[1] if record.exc_info else None
        entry: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": " ".join(record.getMessage().split()),
            **log_context.current(),
        }
        if error is not None:
            entry["error"] = f"{type(error).__module__}.{type(error).__qualname__}"
            if down := lost_service(error):
                entry["down"] = down
            else:
                frames = traceback.extract_tb(error.__traceback__)
                entry["stack"] = [f"{each.filename}:{each.lineno} {each.name}" for each in frames]
        return json.dumps(entry, ensure_ascii=False, default=str)


class OncePerInterval(logging.Filter):
    """Filter that passes the first record of a cause and interval, and counts the others.

    A cause is a logger with what it says before values are filled in, and the service that is down or the
    class of the error.
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
    error = record.exc_info[1] if record.exc_info else None
    kind = lost_service(error) or (type(error).__name__ if error else "")
    return record.name, record.levelno, VARYING.sub("#", str(record.msg)), kind


def logging_configuration(log_format: str) -> dict[str, Any]:
    """Django's setting LOGGING.

    Args:
        log_format: "line" or "json".
    """
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": "turnwise.project.logs.OneLine",
                "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
            },
            "json": {"()": "turnwise.project.logs.JsonLine"},
        },
        "filters": {"once": {"()": "turnwise.project.logs.OncePerInterval"}},
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": log_format, "filters": ["once"]}
        },
        "root": {"handlers": ["console"], "level": "INFO"},
        # Both bring handlers of their own, which know no interval. This undoes --log-level, too.
        "loggers": {
            "uvicorn": {"handlers": ["console"], "level": "WARNING", "propagate": False},
            "django": {"handlers": ["console"], "propagate": False},
        },
    }
