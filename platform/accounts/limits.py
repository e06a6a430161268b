"""Bounds on attempts: sign-in, entry, resume codes. Redis counts them."""

import logging

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_ratelimit.core import is_ratelimited
from redis.exceptions import RedisError

log = logging.getLogger(__name__)


def too_often(request: HttpRequest, what: str, *, rate: str, key: str = "ip") -> bool:
    """Count this attempt; whether there were more than `rate` (such as 10/m) for the same `key`.

    While Redis does not answer, nothing is too often: nobody's work stops for want of a count.
    """
    try:
        return _counted(request, what, rate, key)
    except RedisError as error:
        log.warning("Redis does not answer, so that attempts at %s go uncounted: %s", what, error)
        return False


def too_many(request: HttpRequest) -> HttpResponse:
    context = {
        "title": "Too many attempts",
        "say": "There were too many attempts from here in the last minute. Nothing was changed.",
        "cure": "Wait a minute and try again.",
    }
    return render(request, "crowd/message.html", context, status=429)


def refused_guess(request: HttpRequest, what: str, *, rate: str, key: str = "ip") -> HttpResponse | None:
    """Count an attempt at a secret; what to answer instead of looking at it, None if it may be looked at.

    While Redis does not answer, no attempt may: else passwords and codes could be guessed without a bound.
    """
    try:
        return too_many(request) if _counted(request, what, rate, key) else None
    except RedisError as error:
        log.error("Redis does not answer, so that %s is closed: %s", what, error)
    context = {
        "title": "Please try again in a minute",
        "say": "A part of this server is down that keeps passwords and codes from being guessed, so none is "
        "looked at. Nothing was changed, and all work is safe.",
        "cure": "Wait a minute and try again. If it lasts, tell the people who run this server that Redis "
        "does not answer.",
    }
    return render(request, "crowd/message.html", context, status=503)


def _counted(request: HttpRequest, what: str, rate: str, key: str) -> bool:
    return bool(is_ratelimited(request, group=what, key=key, rate=rate, increment=True))
