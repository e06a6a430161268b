"""Bounds on attempts: sign-in, entry, resume codes."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django_ratelimit.core import is_ratelimited


def too_often(request: HttpRequest, what: str, *, rate: str, key: str = "ip") -> bool:
    """Count this attempt; whether there were more than `rate` (such as 10/m) for the same `key`."""
    return bool(is_ratelimited(request, group=what, key=key, rate=rate, increment=True))


def too_many(request: HttpRequest) -> HttpResponse:
    context = {
        "title": "Too many attempts",
        "say": "There were too many attempts from here in the last minute. Nothing was changed.",
        "cure": "Wait a minute and try again.",
    }
    return render(request, "crowd/message.html", context, status=429)
