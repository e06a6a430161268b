"""Database steps of the consumers that are not taken in batches: a few threads that keep their connections.

Opening a connection for every step costs more than the step; Channels' own
`database_sync_to_async` would queue every worker of the process behind one thread.
What every turn needs goes another way: see `batches.py`.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection
from django.utils.translation import activate, deactivate_all, get_language

# For a PostgreSQL that was killed: it is mostly there again within a second or two.
BACK_WITHIN_SECONDS = 5.0
PAUSE_SECONDS = 0.1

P = ParamSpec("P")
R = TypeVar("R")


def _new_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.DIALOGUE_DATABASE_THREADS, thread_name_prefix="dialogue-database")


_threads = _new_threads()


class AwayError(Exception):
    """PostgreSQL lets nobody in; its cause says why."""


async def in_database(step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a short database step on one of the threads that keep a connection.

    A step must be safe to repeat: if the connection turns out to be broken, as after a restart
    of PostgreSQL, it runs once more on a new one, as soon as PostgreSQL lets anybody in; no thread waits for
    that. What it says is in the language of who asked for it.
    """
    loop = asyncio.get_running_loop()
    language, until = get_language(), loop.time() + BACK_WITHIN_SECONDS

    def run() -> R:
        _speak(language)
        return _with_live_connection(step, *args, **kwargs)

    while True:
        try:
            return await loop.run_in_executor(_threads, run)
        except AwayError as away:
            if loop.time() > until:
                raise away.__cause__ or away from None
        await asyncio.sleep(PAUSE_SECONDS)


def _speak(language: str | None) -> None:
    """Have this thread use a language until its next step: giving back the last one would cost more."""
    if get_language() == language:
        return
    if language is None:
        deactivate_all()
    else:
        activate(language)


def _with_live_connection(step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    try:
        return step(*args, **kwargs)
    except (InterfaceError, OperationalError):
        connection.close()
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise AwayError from error
        return step(*args, **kwargs)


def close_connections() -> None:
    """End the threads, and with each its connection, at the end of the process or of the tests."""
    global _threads
    _threads.shutdown()
    _threads = _new_threads()
