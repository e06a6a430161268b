"""Background jobs: sending them to the queue, locks that keep a row to one process, and chunked jobs.

A chunked job works on a row for a while, then sends the next job for the same row.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from celery import Task
from django.contrib import messages
from django.core.cache import cache
from django.db import DatabaseError, connections
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from chatbots.errors import ChatbotError, last_line


class JobTimeoutError(Exception):
    """Raised in a job that runs for longer than `settings.JOB_SECONDS`."""


def describe_failure(error: BaseException) -> str:
    """Describe in a sentence why a job failed: a bot's error or a limit, else a pointer to the log."""
    if isinstance(error, JobTimeoutError):
        return str(error)
    if isinstance(error, ChatbotError):
        return last_line(error)
    if isinstance(error, MemoryError):
        return _("It needed more memory than the job worker may use. The setting is TURNWISE_JOB_MEMORY_GB.")
    sentence = _("An error that was not expected ended it; the server's log says where: %(error)s")
    return sentence % {"error": last_line(error)}


log = logging.getLogger(__name__)

STARTS_LATER = gettext_lazy(
    "The job queue does not answer. What you asked for is stored, and starts by itself within about a minute "
    "once Redis is back."
)
NOT_STARTED = gettext_lazy(
    "The job queue does not answer, so nothing was started. Try again once Redis is back."
)


def is_sent(send: Callable[[], object]) -> bool:
    """Call `send` and return True if the queue accepted the job; a refused job never runs."""
    try:
        # A suspended Redis would accept the job on its socket and hand it out when it resumes.
        cache.get("turnwise.live.jobs")
        send()
    except (OperationalError, RedisError) as error:
        log.warning("The job queue does not answer: %s", error)
        return False
    return True


def send_or_warn(request: HttpRequest, send: Callable[[], object]) -> None:
    """Send a job, or warn the person that it starts later: the timer sends it once the queue is back."""
    if not is_sent(send):
        messages.warning(request, STARTS_LATER)


# Kinds of advisory locks in PostgreSQL.
REPORTS, RUNS, REHEARSALS, AGREEMENTS = 7301, 7302, 7303, 7304
SELF_PLAY, AUDITS, WAITING, IMPORTS, BUNDLES = 7305, 7306, 7307, 7308, 7309
JUDGES, SCENARIOS, SMALL_MODEL, CONDITIONS = 7310, 7311, 7312, 7313


@contextmanager
def exclusive_lock(kind: int, pk: int) -> Iterator[bool]:
    """Hold the advisory lock of a row on a separate connection; it is released if the process dies.

    Yields:
        True if this process has the lock; False if another process works on the row.
    """
    connection = connections.create_connection("default")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [kind, pk])
            row = cursor.fetchone()
            yield bool(row and row[0])
            # Release it explicitly: after the connection is closed, the server may hold it for a moment.
            with suppress(DatabaseError):
                cursor.execute("SELECT pg_advisory_unlock_all()")
    finally:
        connection.close()


def is_locked(kind: int, pk: int) -> bool:
    with exclusive_lock(kind, pk) as free:
        return not free


# A sent message that nobody received within this time counts as lost and may be sent again.
LOST_AFTER_SECONDS = 60
# If a process dies or loses Redis while it sends, others may send after this time.
SENDING_SECONDS = 10


@dataclass(frozen=True, slots=True)
class ChunkedJob:
    """Chunks of one kind of work, each a job for the row's key.

    Attributes:
        name: name of the kind of work.
        lock: kind of the advisory lock under which one process works on a row.
    """

    name: str
    lock: int

    def send(self, pk: int, job: "Task[[int], None]") -> bool:
        """Send the next chunk of a row; False if a message for it is pending already.

        Raises:
            kombu.exceptions.OperationalError, redis.exceptions.RedisError: the queue did not take the job.
        """
        key = self._pending_key(pk)
        if not cache.add(key, True, timeout=SENDING_SECONDS):
            return False
        try:
            job.delay(pk)
        except BaseException:
            with suppress(RedisError):
                cache.delete(key)
            raise
        with suppress(
            RedisError
        ):  # the queue has the job; if the mark expires early, it is sent twice at most
            cache.touch(key, LOST_AFTER_SECONDS)
        return True

    def mark_received(self, pk: int) -> None:
        """Mark the pending message as received, so that the next one may be sent."""
        cache.delete(self._pending_key(pk))

    def send_if_abandoned(self, pk: int, job: "Task[[int], None]") -> bool:
        """Send a chunk if nobody works on the row and no message is pending: its process has died."""
        return not is_locked(self.lock, pk) and self.send(pk, job)

    def _pending_key(self, pk: int) -> str:
        return f"{self.name}.{pk}.on_its_way"
