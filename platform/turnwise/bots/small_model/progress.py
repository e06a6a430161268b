"""Progress of the job that adds the small model, and the reason if it failed; kept in the cache for a day."""

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from django.core.cache import cache
from django.utils.translation import gettext as _
from redis.exceptions import RedisError

from turnwise.live.jobs import SMALL_MODEL, is_locked

KEY = "bots.small_model"
WAITING, FETCHING, UNPACKING, DONE, FAILED = "waiting", "fetching", "unpacking", "done", "failed"
LOST_AFTER_SECONDS = 60
_KEPT_SECONDS = 86_400
_NOTICE_SECONDS = 600
"""Time for which the page says that the model was added."""


def report(stage: str, done: int = 0, size: int = 0) -> None:
    """Store the stage, with the bytes received of all."""
    _store({"stage": stage, "done": done, "size": size}, _KEPT_SECONDS)


def finish() -> None:
    """Store that the bot is there."""
    _store({"stage": DONE}, _NOTICE_SECONDS)


def fail(why: str) -> None:
    """Store why there is no bot."""
    _store({"stage": FAILED, "why": why}, _KEPT_SECONDS)


def _store(state: Mapping[str, Any], seconds: int) -> None:
    with suppress(RedisError):  # progress is optional
        cache.set(KEY, {**state, "at": time.time()}, timeout=seconds)


def current(locked: int) -> Mapping[str, Any]:
    """State of the job: its `stage`, and with it `done`, `size` and `percent`, or `why`; empty for none.

    A job that was lost, or whose process died, counts as failed.
    """
    state: dict[str, Any] = {}
    with suppress(RedisError):
        state = dict(cache.get(KEY) or {})
    if state.get("stage") in (WAITING, FETCHING, UNPACKING):
        if time.time() - state["at"] > LOST_AFTER_SECONDS and not is_locked(SMALL_MODEL, locked):
            why = _("Its process ended unexpectedly; the log says why. Start it again.")
            return {"stage": FAILED, "why": why}
        if state.get("size"):
            state["percent"] = round(100 * state["done"] / state["size"])
    return state
