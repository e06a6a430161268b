"""Middleware that gives each request an id, and writes the access log if it is switched on."""

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

log = logging.getLogger("turnwise.access")

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
        log.info("%s /%s %s %s ms", request.method, route, status, round(1000 * seconds))
    return response


def _visitors(route: str) -> str:
    """Who asks for pages of this route: one of `VISITORS`."""
    return "workers" if route.startswith("s/") else "programs" if route.startswith("api/") else "staff"
