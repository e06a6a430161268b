"""Rate limits, counted in Redis, and limits of concurrent requests per user."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django_ratelimit.core import is_ratelimited
from redis.exceptions import RedisError

from turnwise.accounts.access import AuthenticatedHttpRequest

log = logging.getLogger(__name__)


class TooManyAtOnceError(Exception):
    """The user has reached the limit of concurrent requests; nothing was started."""


_under_way: Counter[tuple[str, int]] = Counter()
_counting = threading.Lock()


View = Callable[..., HttpResponse]
Key = str | Callable[[str, HttpRequest], str]


def too_often(request: HttpRequest, what: str, *, rate: str, key: Key = "ip") -> bool:
    """Count this attempt; True if it exceeds `rate` (such as 10/m) for the same `key`.

    While Redis does not answer, no attempt is refused.
    """
    try:
        return guessed_too_often(request, what, rate=rate, key=key)
    except RedisError as error:
        log.warning("Redis does not answer, so attempts at %s go uncounted: %s", what, error)
        return False


def guessed_too_often(request: HttpRequest, what: str, *, rate: str, key: Key = "ip") -> bool:
    """Strict version of `too_often` for secrets, which must never be tried without counting.

    Raises:
        RedisError: Redis does not answer. Do not catch it: project/middleware.py shows a page about it.
    """
    return bool(is_ratelimited(request, group=what, key=key, rate=rate, increment=True))


def too_many(request: HttpRequest) -> HttpResponse:
    context = {
        "title": _("Too many attempts"),
        "say": _(
            "There have been too many attempts from your network in the last minute. No changes were made."
        ),
        "cure": _("Wait a minute and try again."),
    }
    return render(request, "crowd/message.html", context, status=429)


@contextmanager
def limit_concurrency(most: int, what: str, person: int) -> Iterator[None]:
    """Limit a user's concurrent long requests of one kind in this process to `most`.

    So one user cannot occupy all threads of a web server.

    Raises:
        TooManyAtOnceError: the user has reached the limit.
    """
    key = (what, person)
    with _counting:
        if _under_way[key] >= most:
            raise TooManyAtOnceError
        _under_way[key] += 1
    try:
        yield
    finally:
        with _counting:
            _under_way[key] -= 1
            if not _under_way[key]:
                del _under_way[key]


def _current_page(request: HttpRequest) -> str:
    return request.path if request.method in ("GET", "HEAD") else ""


def limit_file_reading(address: Callable[[HttpRequest], str]) -> Callable[[View], View]:
    """Limit reading of uploads and their previews per user: by rate, and to one at a time.

    Args:
        address: finds the address to which a second request, such as a double click, is sent to see the
            result of the first; empty if there is none yet.
    """

    def bounding(view: View) -> View:
        @wraps(view)
        def bounded(request: AuthenticatedHttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if too_often(request, "imports", rate="60/m", key="user"):
                return too_many(request)
            try:
                with limit_concurrency(1, "imports", request.user.pk):
                    return view(request, *args, **kwargs)
            except TooManyAtOnceError:
                return _still_reading(request, address(request))

        return bounded

    return bounding


reads_a_file = limit_file_reading(_current_page)


def _still_reading(request: HttpRequest, goes_on_at: str) -> HttpResponse:
    """Page saying that the file is being read; it reloads automatically if there is an address."""
    context = {
        "title": _("Your file is being read"),
        "say": _("One file of yours is read at a time, and one is being read now."),
        "cure": _("This page goes on by itself.")
        if goes_on_at
        else _("Wait until it has been read, then choose this file again."),
    }
    answer = render(request, "crowd/message.html", context, status=202 if goes_on_at else 429)
    if goes_on_at:
        answer["Refresh"] = f"2; url={goes_on_at}"
    return answer
