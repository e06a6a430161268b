"""How much memory the bots of this process may take, and how much they do."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from django.conf import settings

from chatbots.errors import BotMemoryError
from evaluation.printed import with_unit

# Two bots that load at once could not be told apart by what the process grows. Yet one that hangs in its
# loading, as at a server that does not answer, must not keep the others out for ever.
PATIENCE_SECONDS = 120.0
_MB = 1_000_000
_loading = threading.Lock()


@contextmanager
def one_at_a_time() -> Iterator[bool]:
    """Wait until no other bot is being loaded; False if that took too long to be waited for."""
    alone = _loading.acquire(timeout=PATIENCE_SECONDS)
    try:
        yield alone
    finally:
        if alone:
            _loading.release()


def taken() -> int:
    """Bytes that this process holds in memory."""
    return int(psutil.Process().memory_info().rss)


def budget() -> int:
    """Bytes that this process may hold: TURNWISE_BOT_MEMORY_GB, else four fifths of the machine."""
    return settings.BOT_MEMORY_BYTES or int(0.8 * psutil.virtual_memory().total)


def refuse_over_budget(title: str, needed: int) -> None:
    """Refuse a bot that needs so many further bytes.

    Raises:
        BotMemoryError: they would take the process past its budget.
    """
    if taken() + needed > budget():
        raise BotMemoryError(
            f"{title} needs {_in_mb(needed)}; this process holds {_in_mb(taken())} already and may hold "
            f"{_in_mb(budget())}. Switch another bot off, host this one in a process of its own (manage.py "
            "hostbots), or raise TURNWISE_BOT_MEMORY_GB."
        )


def _in_mb(size: int) -> str:
    return with_unit(f"{size / _MB:,.0f}", "MB")
