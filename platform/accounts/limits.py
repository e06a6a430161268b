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
        return guessed_too_often(request, what, rate=rate, key=key)
    except RedisError as error:
        log.warning("Redis does not answer, so that attempts at %s go uncounted: %s", what, error)
        return False


def guessed_too_often(request: HttpRequest, what: str, *, rate: str, key: str = "ip") -> bool:
    """The same for a secret, of which none may be tried uncounted: else it could be guessed without a bound.

    Raises:
        RedisError: Redis does not answer. Let it pass: project/outage.py says so on the page.
    """
    return bool(is_ratelimited(request, group=what, key=key, rate=rate, increment=True))


def too_many(request: HttpRequest) -> HttpResponse:
    context = {
        "title": "Too many attempts",
        "say": "There were too many attempts from here in the last minute. Nothing was changed.",
        "cure": "Wait a minute and try again.",
    }
    return render(request, "crowd/message.html", context, status=429)
