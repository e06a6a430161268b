"""Steps of a request that the middleware may answer a second time, after PostgreSQL was lost."""

import traceback
from collections.abc import Callable
from typing import TypeVar

from django.db import Error
from django.http import HttpRequest

from turnwise.live.losses import is_connection_loss

R = TypeVar("R")

_DONE = "_steps_done"
_UNCERTAIN = "_step_may_be_done"


def once(request: HttpRequest, step: Callable[[], R], *, is_idempotent: bool = False) -> R:
    """Take a step that must not be taken twice for one request, and return what it returns.

    If the request is answered a second time, because PostgreSQL was lost after the step, its first result
    is used. If PostgreSQL was lost during the commit, nobody knows whether the step was taken, and
    `may_be_done` is true from then on.

    Args:
        request: what is answered; it takes only one such step.
        step: commits once, at its end.
        is_idempotent: whether the step finds out itself that its commit was lost with PostgreSQL.
    """
    done: list[R] = request.__dict__.setdefault(_DONE, [])
    if not done:
        try:
            done.append(step())
        except Error as error:
            if not is_idempotent and is_connection_loss(error) and _is_of_commit(error):
                setattr(request, _UNCERTAIN, True)
            raise
    return done[0]


def may_be_done(request: HttpRequest) -> bool:
    """True if a step of `once` may be committed although PostgreSQL was lost during its commit."""
    return getattr(request, _UNCERTAIN, False)


def _is_of_commit(error: Error) -> bool:
    return any(frame.f_code.co_name == "_commit" for frame, _ in traceback.walk_tb(error.__traceback__))
