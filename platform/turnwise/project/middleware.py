"""What a browser is told, and how long it waits, while a part of the server that its page needs is down.

What no form and no link of ours sends, and no database takes.
"""

import logging
import time
from collections.abc import Iterable
from typing import Any

from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override
from django.views.csrf import csrf_failure
from redis.exceptions import RedisError

from turnwise.crowd.languages import language_of_visitor

log = logging.getLogger(__name__)

# For a PostgreSQL that was killed: it is mostly there again within a second or two.
BACK_WITHIN_SECONDS = 5.0
PAUSE_SECONDS = 0.1
# Who asks for these asks how the server is.
IMPATIENT = ("/healthz", "/readyz")

REDIS_OUTAGE_WORDS = {
    "title": _("Please try again in a minute"),
    "say": _("Part of this server is down. Everything that was shown as saved is safe."),
    "cure": _(
        "Wait a minute and try again. If this continues, tell the people who run this server "
        "that Redis does not answer."
    ),
}


class PatientWithPostgreSQL(MiddlewareMixin):
    """Begins a page once PostgreSQL lets it in: its restart makes pages late instead of failing them."""

    def process_request(self, request: HttpRequest) -> None:
        until = time.monotonic() + BACK_WITHIN_SECONDS
        while not (request.path.startswith(IMPATIENT) or _is_let_in()) and time.monotonic() < until:
            time.sleep(PAUSE_SECONDS)


def _is_let_in() -> bool:
    """Whether there is a connection that works; the first query of a page would look for one just so."""
    try:
        connection.close_if_health_check_failed()
        connection.ensure_connection()
    except OperationalError:
        return False
    return True


class RedisOutage(MiddlewareMixin):
    """Answers with words and 503 where a page needs Redis and it is not there."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, RedisError):
            return None
        log.error("Redis does not answer, so %s cannot: %s", request.path, exception)
        with override(language_of_visitor(request)):
            return render(request, "crowd/message.html", REDIS_OUTAGE_WORDS, status=503)


NULL_CHARACTER_WORDS = {
    "title": _("This cannot be stored"),
    "say": _("What was sent contains a null character, which text cannot have. No changes were made."),
    "cure": _("Go back, remove it (it is invisible, so retype the text), and send it again."),
}


class NoNulls(MiddlewareMixin):
    """Refuses null characters in the query and in forms, in words, before any view hands them on."""

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        # What the API is sent is JSON, which it reads and checks by itself (api.py).
        is_form = request.method not in ("GET", "HEAD") and not request.path.startswith("/api/")
        sent = [request.GET, request.POST] if is_form else [request.GET]
        if any(_has_null(values) for each in sent for values in each.lists()):
            with override(language_of_visitor(request)):
                return render(request, "crowd/message.html", NULL_CHARACTER_WORDS, status=400)
        return None


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's answer to a form without its token, in the language of who sent it."""
    with override(language_of_visitor(request)):
        return csrf_failure(request, reason=reason)


def _has_null(named: tuple[str, Iterable[object]]) -> bool:
    name, values = named
    return "\x00" in name or any(isinstance(value, str) and "\x00" in value for value in values)
