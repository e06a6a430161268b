"""Health checks: the process is alive (`/healthz`), and all that it needs is available (`/readyz`)."""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from typing_extensions import override

from chatbots.hosting.health import State
from turnwise.bots.hosting import presence
from turnwise.bots.queries import visible_bots
from turnwise.live.sockets import layer
from turnwise.project.celery import silent_seconds

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 1.0
# The timer sends a heartbeat every ten seconds. Housekeeping is quick; other jobs may hold a worker for long.
HOUSEKEEPING_SILENT_SECONDS, OTHERS_SILENT_SECONDS = 60.0, 600.0
# Anyone may ask as often as they like; the database is written to no more often than this.
WRITTEN_EVERY_SECONDS = 5.0
# Too little for a day's work: said before the disk is full, when what workers send can still be kept.
LEAST_FREE_BYTES = 200 * 1024**2


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that this server needs.

    Anyone may read whether it is ready and its state; the rest is for who signs in, and holds no address and
    no secret. Figures of bots would tell a worker which of them has just answered.
    """

    ready: bool
    state: str
    detail: str = ""

    def details(self, bots: Collection[str]) -> dict[str, Any]:
        """Details for a person who may see these bots."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class BotsPart(Part):
    """The bots: health of each copy (`presence.health_by_bot`), and the bots that are not ready."""

    each: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    unwell: dict[str, str] = field(default_factory=dict)

    @override
    def details(self, bots: Collection[str]) -> dict[str, Any]:
        each = {name: figures for name, figures in self.each.items() if name in bots}
        unwell = [f"{name}: {state}" for name, state in self.unwell.items() if name in bots]
        return _outline(self) | {"detail": ", ".join(unwell) or self.detail, "each": each}


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Every part with its state, for those who sign in with details; 200 if all are ready, else 503."""
    parts = check_parts()
    ready = all(part.ready for part in parts.values())
    # Reading the session of somebody who signed in would wait for a database that hangs.
    seen = _seen_by(request) if parts["postgresql"].ready else None
    shown = {name: _outline(part) if seen is None else part.details(seen) for name, part in parts.items()}
    body = {"ready": ready, **shown}
    return JsonResponse(body, status=200 if ready else 503)


def check_parts() -> dict[str, Part]:
    """Check every part at the same time; one that does not answer in time is not ready."""
    return _ask_all(
        {
            "postgresql": _postgresql,
            "disk": _disk,
            "redis": _redis,
            "line": _line,
            "bots": _bots,
            "celery_worker": _celery_worker,
        }
    )


def _outline(part: Part) -> dict[str, Any]:
    return {"ready": part.ready, "state": part.state}


def _seen_by(request: HttpRequest) -> Collection[str] | None:
    """Names of the bots that this person may see; None of somebody who did not sign in."""
    try:
        if not request.user.is_authenticated:
            return None
        return set(visible_bots(request.user).values_list("name", flat=True))
    except DatabaseError:
        return None


# A check that hangs keeps its thread. The next requests wait for the same check instead of beginning another
# one, so that a part that hangs never takes the threads of the other parts. After a while a new one begins:
# the connection on which the old one waits may be gone for good.
_threads = ThreadPoolExecutor(64, thread_name_prefix="health")
GIVEN_UP_AFTER_SECONDS = 60.0
_running: dict[str, tuple[Future[Part], float]] = {}
_beginning = threading.Lock()


def _ask_all(checks: dict[str, Callable[[], Part]]) -> dict[str, Part]:
    futures = {name: _begun(name, check) for name, check in checks.items()}
    wait(futures.values(), timeout=TIMEOUT_SECONDS)
    return {name: _outcome(name, future) for name, future in futures.items()}


def _begun(name: str, check: Callable[[], Part]) -> Future[Part]:
    """The check of this name that is under way, or a new one."""
    with _beginning:
        future, since = _running.get(name, (None, 0.0))
        if future is None or future.done() or time.monotonic() - since > GIVEN_UP_AFTER_SECONDS:
            future = _threads.submit(check)
            _running[name] = future, time.monotonic()
        return future


def _outcome(name: str, future: Future[Part]) -> Part:
    if not future.done():
        return Part(False, "late", f"no answer within {TIMEOUT_SECONDS:.0f} s")
    error = future.exception()
    if error is not None:
        log.warning("%s is not ready: %s", name, error)
        return Part(False, "failed", f"{type(error).__name__}; the server's log says more")
    return future.result()


_written_at = -WRITTEN_EVERY_SECONDS


def _postgresql() -> Part:
    global _written_at
    try:
        with connection.cursor() as cursor:
            if time.monotonic() - _written_at >= WRITTEN_EVERY_SECONDS:
                write_probe(cursor)
                _written_at = time.monotonic()
            else:
                cursor.execute("SELECT 1")
        return Part(True, "ready")
    finally:
        connection.close()


def write_probe(cursor: Any) -> None:
    """Let a file grow and commit, as every turn may: on a full disk reading goes on for long.

    Raises:
        DatabaseError: nothing can be written.
    """
    table = f"readyz_{uuid4().hex}"
    # A temporary table: the application's role may create no other.
    cursor.execute(
        f"BEGIN; CREATE TEMPORARY TABLE {table} AS"
        f" SELECT repeat(md5(n::text), 50) FROM generate_series(1, 100) AS n; DROP TABLE {table}; COMMIT"
    )


def _disk() -> Part:
    free = shutil.disk_usage(settings.VAR).free
    return Part(
        free > LEAST_FREE_BYTES, "ready" if free > LEAST_FREE_BYTES else "full", f"{free >> 20} MB free"
    )


def _redis() -> Part:
    cache.set("readyz", 1, timeout=60)  # on a full disk it takes no writes, and the jobs' queue is one
    return Part(True, "ready")


def _line() -> Part:
    """Check this process's own message connection: it may hang although Redis answers others."""
    if layer.process_layer().is_cut_off():
        return Part(
            False, "down", "messages to and from other processes are lost; it is tried again and again"
        )
    return Part(True, "ready")


def _bots() -> Part:
    """Ready if some bots answer: workers are assigned to these, not to one that still loads."""
    try:
        states, each = presence.bot_states(), presence.health_by_bot()
    finally:
        connection.close()
    unwell = {name: state for name, state in states.items() if state != State.READY}
    if not unwell:
        return BotsPart(True, "ready", "" if states else "no active bot", each)
    # A bot that somebody registered and that fails is no reason to send people to another server.
    is_waited_for = any(state in (State.LOADING, "not hosted") for state in unwell.values())
    is_ready = len(unwell) < len(states) or not is_waited_for
    state = "not ready" if not is_ready else "incomplete" if is_waited_for else "failing"
    return BotsPart(is_ready, state, "", each, unwell)


def _celery_worker() -> Part:
    silent = silent_seconds()
    if unseen := [queue for queue in settings.JOB_QUEUES if queue not in silent]:
        names = ", ".join(unseen)
        return Part(False, "unseen", f"no heartbeat of {names} yet; the first comes within 10 s of a start")
    late = {queue: age for queue, age in silent.items() if age > _longest_silence(queue)}
    if late:
        ages = ", ".join(f"{queue}: last heartbeat {age:.0f} s ago" for queue, age in late.items())
        return Part(False, "silent", f"{ages}; a long job, or a dead worker or timer")
    return Part(True, "ready", f"last heartbeat {max(silent.values()):.0f} s ago")


def _longest_silence(queue: str) -> float:
    return HOUSEKEEPING_SILENT_SECONDS if queue == "housekeeping" else OTHERS_SILENT_SECONDS
