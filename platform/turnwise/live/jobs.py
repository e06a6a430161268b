"""What pages say of work that an error ended which nobody expected.

Jobs that pages and calls of the API give to the worker, and what is said when Redis takes none.

Long work in slices: each is a job that takes the row's key, and sends the next one when it ends.
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


def describe_failure(error: BaseException) -> str:
    """In a sentence, for whoever waits for the work: of a bot what its error says, else where to look."""
    if isinstance(error, ChatbotError):
        return last_line(error)
    said = _("An error that was not expected ended it; the server's log says where: %(error)s")
    return said % {"error": last_line(error)}


log = logging.getLogger(__name__)

STARTS_LATER = gettext_lazy(
    "The job queue does not answer. What you asked for is stored, and starts by itself within about a minute "
    "once Redis is back."
)
NOT_STARTED = gettext_lazy(
    "The job queue does not answer, so nothing was started. Try again once Redis is back."
)


def is_sent(send: Callable[[], object]) -> bool:
    """Whether the queue took what `send` gives it; if not, nothing of it is done later."""
    try:
        # A Redis that is stopped would take a job from the socket, and hand it out, once it goes on.
        cache.get("turnwise.live.jobs")
        send()
    except (OperationalError, RedisError) as error:
        log.warning("The job queue does not answer: %s", error)
        return False
    return True


def send_or_warn(request: HttpRequest, send: Callable[[], object]) -> None:
    """Send a job for something that is stored; the timer sends it if the queue does not take it now."""
    if not is_sent(send):
        messages.warning(request, STARTS_LATER)


# What is locked: PostgreSQL keeps locks apart by these numbers.
REPORTS, RUNS, REHEARSALS, AGREEMENTS = 7301, 7302, 7303, 7304
SELF_PLAY, AUDITS, WAITING, IMPORTS, BUNDLES = 7305, 7306, 7307, 7308, 7309


@contextmanager
def exclusive_lock(kind: int, pk: int) -> Iterator[bool]:
    """Hold the lock of a report or a run, on a connection of its own; it falls with the process that held it.

    Yields:
        Whether it is ours; False if another process works on it.
    """
    connection = connections.create_connection("default")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [kind, pk])
            row = cursor.fetchone()
            yield bool(row and row[0])
            # Given back here: after the connection closed, the server may still hold it for a moment.
            with suppress(DatabaseError):
                cursor.execute("SELECT pg_advisory_unlock_all()")
    finally:
        connection.close()


def is_locked(kind: int, pk: int) -> bool:
    with exclusive_lock(kind, pk) as free:
        return not free


# A message is on its way for at most so long; then it is taken for lost and sent again.
LOST_AFTER_SECONDS = 60
# A process that dies, or loses Redis, while it sends holds the row up no longer than this.
SENDING_SECONDS = 10


@dataclass(frozen=True, slots=True)
class ChunkedJob:
    """The slices of one kind of work.

    Attributes:
        name: of the kind.
        lock: under which one process works on a row (`turnwise.live.jobs`).
    """

    name: str
    lock: int

    def send(self, pk: int, job: "Task[[int], None]") -> bool:
        """Have a worker go on with a row; False if one was told so already.

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
        with suppress(RedisError):  # the queue has the job; if the mark ends early, it is sent twice at most
            cache.touch(key, LOST_AFTER_SECONDS)
        return True

    def mark_received(self, pk: int) -> None:
        """The message is there: the next one may be sent."""
        cache.delete(self._pending_key(pk))

    def send_if_abandoned(self, pk: int, job: "Task[[int], None]") -> bool:
        """Send a row that nobody works on and no message is under way for: its process has died."""
        return not is_locked(self.lock, pk) and self.send(pk, job)

    def _pending_key(self, pk: int) -> str:
        return f"{self.name}.{pk}.on_its_way"
