"""Whether the process lives (`/healthz`) and whether all it needs is there (`/readyz`)."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from bots import presence
from chatbots.health import State
from project.tasks import HEART

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 1.0
# The timer sends a heartbeat every ten seconds, and a long report may hold the worker for a while.
HEARTBEAT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that this server needs. Anyone may read it: `detail` holds no address and no secret."""

    ready: bool
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class BotsPart(Part):
    """The bots, each with what it does in every process that has it (`bots.presence.figures`)."""

    each: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """Every part with its state; 200 if all are ready, else 503."""
    parts = _ask_all(
        {"postgresql": _postgresql, "redis": _redis, "bots": _bots, "celery_worker": _celery_worker}
    )
    ready = all(part.ready for part in parts.values())
    body = {"ready": ready, **{name: asdict(part) for name, part in parts.items()}}
    return JsonResponse(body, status=200 if ready else 503)


# A check that hangs keeps its thread; when all hang, the next request finds none free and says so in time.
_threads = ThreadPoolExecutor(4, thread_name_prefix="health")


def _ask_all(checks: dict[str, Callable[[], Part]]) -> dict[str, Part]:
    futures = {name: _threads.submit(check) for name, check in checks.items()}
    wait(futures.values(), timeout=PATIENCE_SECONDS)
    return {name: _outcome(name, future) for name, future in futures.items()}


def _outcome(name: str, future: Future[Part]) -> Part:
    if not future.done():
        future.cancel()
        return Part(False, "late", f"no answer within {PATIENCE_SECONDS:.0f} s")
    error = future.exception()
    if error is not None:
        log.warning("%s is not ready: %s", name, error)
        return Part(False, "failed", f"{type(error).__name__}; the server's log says more")
    return future.result()


def _postgresql() -> Part:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return Part(True, "ready")
    finally:
        connection.close()


def _redis() -> Part:
    cache.get(HEART)
    return Part(True, "ready")


def _bots() -> Part:
    try:
        states, each = presence.states(), presence.figures()
    finally:
        connection.close()
    unwell = {name: state for name, state in states.items() if state != State.READY}
    if not unwell:
        return BotsPart(True, "ready", ", ".join(states) or "no active bot", each)
    # A bot that somebody registered and that fails is no reason to send people to another server.
    is_waited_for = any(state in (State.LOADING, "not hosted") for state in unwell.values())
    detail = ", ".join(f"{name}: {state}" for name, state in unwell.items())
    return BotsPart(not is_waited_for, "not ready" if is_waited_for else "failing", detail, each)


def _celery_worker() -> Part:
    beat_at = cache.get(HEART)
    if beat_at is None:
        return Part(False, "unseen", "no heartbeat yet; the first comes within 10 s of a start")
    age = time.time() - beat_at
    if age > HEARTBEAT_SECONDS:
        return Part(False, "silent", f"last heartbeat {age:.0f} s ago; a long job, or a dead worker or timer")
    return Part(True, "ready", f"last heartbeat {age:.0f} s ago")
