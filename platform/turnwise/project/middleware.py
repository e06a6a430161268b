"""Middleware: ids and log of requests, and answers while PostgreSQL or Redis is down.

These answers come late if possible, else in words with status 503. Null characters, which no form and no link
of ours sends and no database takes, are refused.
"""

import logging
import re
import time
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from turnwise.live import log_context
from turnwise.live.metrics.families import PAGE_STATUSES
from turnwise.live.metrics.recording import record_page
from turnwise.live.traces.spans import span

if TYPE_CHECKING:
    from opentelemetry.trace import Span
import sys
from collections.abc import Iterable

from django.db import OperationalError, connection
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override
from django.views import defaults
from django.views.csrf import csrf_failure
from redis.exceptions import RedisError

from turnwise.crowd.languages import language_of_visitor
from turnwise.live.losses import is_connection_loss
from turnwise.live.problems import problem, problem_response
from turnwise.live.repeating import may_be_done

access_log = logging.getLogger("turnwise.access")

HEADER = "X-Request-ID"
ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")
STUDY_PAGES = "studies/<int:pk>/"
PROBES = ("healthz", "readyz", "metrics")


class RequestLog(MiddlewareMixin):
    """Bind an id to the log of each request, and return it in the header X-Request-ID.

    The access log has the route of a page, not its address: addresses and queries can hold ids of people.
    """

    async_capable = False

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with span("page") as traced:
            began = _begin(request)
            return _end(request, cast("HttpResponseBase", self.get_response(request)), began, traced)

    def process_view(self, request: HttpRequest, *view: Any) -> None:
        """Bind the study of its pages."""
        match = request.resolver_match
        if match and match.route.startswith(STUDY_PAGES):
            log_context.bind(study=match.kwargs["pk"])


def _begin(request: HttpRequest) -> float:
    given = request.headers.get(HEADER, "")
    log_context.clear()
    log_context.bind(request=given if ACCEPTED.fullmatch(given) else uuid4().hex)
    return time.perf_counter()


def _end(
    request: HttpRequest, response: HttpResponseBase, began: float, traced: "Span | None"
) -> HttpResponseBase:
    seconds, status = time.perf_counter() - began, response.status_code
    response[HEADER] = str(log_context.current()["request"])
    route = request.resolver_match.route if request.resolver_match else "(no page)"
    if route not in PROBES:
        record_page(_visitors(route), PAGE_STATUSES[(status >= 400) + (status >= 500)], seconds)
    if traced:
        traced.update_name(f"{request.method} /{route}")
        traced.set_attributes({"http.route": f"/{route}", "http.response.status_code": status})
    if settings.ACCESS_LOG:
        access_log.info("%s /%s %s %s ms", request.method, route, status, round(1000 * seconds))
    return response


def _visitors(route: str) -> str:
    """Who asks for pages of this route: one of `VISITORS`."""
    return "workers" if route.startswith("s/") else "programs" if route.startswith("api/") else "staff"


log = logging.getLogger(__name__)

# For a PostgreSQL that was killed: it is mostly there again within a second or two.
WAIT_SECONDS = 5.0
PAUSE_SECONDS = 0.1
# A page that loses PostgreSQL again and again, as one that makes it crash, is not repeated for ever.
MOST_TRIES = 3
# Health checks and metrics, which must answer even while PostgreSQL or Redis is down.
HEALTH_PATHS = ("/healthz", "/readyz", "/metrics")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
# Workers reload pages and click twice, so any of their requests can arrive twice.
WORKER_PAGES = "/s/"

REDIS_OUTAGE_WORDS = {
    "title": _("Please try again in a minute"),
    "say": _("Part of this server is down. Everything that was shown as saved is safe."),
    "cure": _(
        "Wait a minute and try again. If this continues, tell the people who run this server "
        "that Redis does not answer."
    ),
}
DOWN = "PostgreSQL is down. Try again in a minute."
MAY_BE_SAVED = (
    "PostgreSQL was lost while this was being saved. Check whether the change is there before you repeat it."
)
REDIS_DOWN = "Redis does not answer. If you sent a change, check whether it is there before you repeat it."
FAILED = (
    "The server failed, and its log says why. If you sent a change, check whether it is there before you "
    "repeat it."
)
# For pages of staff, which are English.
CHECK_FIRST = (
    "PostgreSQL was lost while your form was being saved. Open the page again and check whether the change "
    "is there before you send the form a second time."
)


class WaitForPostgreSQL(MiddlewareMixin):
    """Middleware by which pages are late instead of failing when PostgreSQL restarts.

    A page begins once PostgreSQL accepts connections. If the connection is lost while a page is made, the
    page is made again: pages that only read, and all pages of workers, where sending twice is safe.
    """

    async_capable = False

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, if need be in several tries."""
        for tries_left in reversed(range(MOST_TRIES)):
            is_back = _wait(request)
            response = cast("HttpResponseBase", self.get_response(request))
            if not (_is_lost(response) and is_back and tries_left and _is_repeatable(request)):
                break
            connection.close()  # the next try opens one
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer for a view that lost its connection."""
        return _lost(request, exception) if is_connection_loss(exception) else None


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer for other middleware that raised an error; Django's `handler500`."""
    error = sys.exc_info()[1]
    if is_connection_loss(error):
        return _lost(request, error)
    if request.path.startswith("/api/"):
        return problem_response(problem(500, FAILED))
    return defaults.server_error(request)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer for a request that cannot be read; Django's `handler400`.

    A session that cannot be saved is one for Django, also if PostgreSQL was lost.
    """
    first = exception
    while isinstance(first.__context__, Exception):
        first = first.__context__
    return _lost(request, first) if is_connection_loss(first) else defaults.bad_request(request, exception)


def _wait(request: HttpRequest) -> bool:
    """Wait for a connection that works; False if there is none in time, or nobody wants to wait."""
    until = time.monotonic() + WAIT_SECONDS
    if request.path.startswith(HEALTH_PATHS):
        return False
    while not (is_back := _can_connect()) and time.monotonic() < until:
        time.sleep(PAUSE_SECONDS)
    return is_back


def _can_connect() -> bool:
    """True if a working connection exists or can be opened."""
    try:
        connection.close_if_health_check_failed()
        connection.ensure_connection()
    except OperationalError:
        return False
    return True


def _is_repeatable(request: HttpRequest) -> bool:
    return request.method in READING or (request.path.startswith(WORKER_PAGES) and not may_be_done(request))


def _is_lost(response: HttpResponseBase) -> bool:
    return getattr(response, "lost_postgresql", False)


def _lost(request: HttpRequest, error: BaseException | None) -> HttpResponse:
    """Say that the page could not be made, in words after which reloading it is safe."""
    log.warning("PostgreSQL was lost while a page was made: %s", str(error).partition("\n")[0])
    response = _in_words(request)
    response.lost_postgresql = True  # type: ignore[attr-defined]
    response.outcome_is_unknown = True  # type: ignore[attr-defined]
    response._has_been_logged = True  # type: ignore[attr-defined]  # as Django notes that the log has its line
    return response


def _in_words(request: HttpRequest) -> HttpResponse:
    is_read = request.method in READING
    if request.path.startswith("/api/"):
        return problem_response(problem(503, DOWN if is_read else MAY_BE_SAVED))
    if request.path.startswith(WORKER_PAGES) and may_be_done(request):
        # The page itself shows whether what was sent has been saved.
        return HttpResponseRedirect(request.path, status=303)
    say = "" if is_read or request.path.startswith(WORKER_PAGES) else CHECK_FIRST
    with override(language_of_visitor(request)):
        response = HttpResponse(render_to_string("500.html", {"say": say}), status=503)
    response["Retry-After"] = "5"
    if is_read:
        response["Refresh"] = "5"
    return response


class RedisOutage(MiddlewareMixin):
    """Answers 503 with an explanation if a page needs Redis and it is down."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, RedisError):
            return None
        log.error("Redis does not answer, so %s cannot: %s", request.path, exception)
        if request.path.startswith("/api/"):
            response = problem_response(problem(503, REDIS_DOWN))
            response.outcome_is_unknown = True  # type: ignore[attr-defined]
            return response
        with override(language_of_visitor(request)):
            return render(request, "crowd/message.html", REDIS_OUTAGE_WORDS, status=503)


NULL_CHARACTER_WORDS = {
    "title": _("This cannot be stored"),
    "say": _("What was sent contains a null character, which text cannot have. No changes were made."),
    "cure": _("Go back, remove it (it is invisible, so retype the text), and send it again."),
}


NULL_IN_QUERY = "The address has a null character, which text cannot have. Remove it."


class NoNulls(MiddlewareMixin):
    """Middleware that refuses null characters in the query and in forms, before a view reads them."""

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        # What the API is sent is JSON, which it reads and checks by itself (api.py).
        is_form = request.method not in ("GET", "HEAD") and not request.path.startswith("/api/")
        sent = [request.GET, request.POST] if is_form else [request.GET]
        if any(_has_null(values) for each in sent for values in each.lists()):
            if request.path.startswith("/api/"):
                return problem_response(problem(400, NULL_IN_QUERY))
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
