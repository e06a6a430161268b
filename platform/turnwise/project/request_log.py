"""Middleware that gives each request an id, and writes the access log if it is switched on."""

import logging
import re
import time
from collections.abc import Awaitable
from typing import Any, cast
from uuid import uuid4

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from turnwise.live import log_context

log = logging.getLogger("turnwise.access")

HEADER = "X-Request-ID"
ACCEPTED = re.compile(r"[A-Za-z0-9._-]{8,64}")
STUDY_PAGES = "studies/<int:pk>/"


class RequestLog(MiddlewareMixin):
    """Bind an id to the log of each request, and return it in the header X-Request-ID.

    The access log has the route of a page, not its address: addresses and queries can hold ids of people.
    """

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer; under ASGI return a coroutine that does so."""
        if self.async_mode:
            return self.__acall__(request)  # type: ignore[return-value]  # as in Django's own
        began = _begin(request)
        return _end(request, cast("HttpResponseBase", self.get_response(request)), began)

    async def __acall__(self, request: HttpRequest) -> HttpResponseBase:
        """Do the same."""
        began = _begin(request)
        return _end(request, await cast("Awaitable[HttpResponseBase]", self.get_response(request)), began)

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


def _end(request: HttpRequest, response: HttpResponseBase, began: float) -> HttpResponseBase:
    response[HEADER] = str(log_context.current()["request"])
    if settings.ACCESS_LOG:
        route = request.resolver_match.route if request.resolver_match else "(no page)"
        milliseconds = round(1000 * (time.perf_counter() - began))
        log.info("%s /%s %s %s ms", request.method, route, response.status_code, milliseconds)
    return response
