"""Middleware of the API, and requests that programs may repeat: a key, the body's hash, the answer for a day.

It imports nothing of Ninja, which a process loads with the API's first request.
"""

import hashlib
import logging
import re
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError

from turnwise.accounts.limits import Key
from turnwise.accounts.models import ApiToken, RepeatableRequest
from turnwise.live.problems import KEY_REUSED, problem, problem_response

KEEP_FOR = timedelta(days=1)
_KEY = re.compile(r"[!-~]{1,200}")


class KeyRefusedError(Exception):
    """A request with this idempotency key is not carried out; `document` says why."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document["detail"])
        self.document = document


def begin(token: ApiToken, key: str, path: str, body: bytes) -> RepeatableRequest:
    """Record a request before it is carried out, or find the answer to an earlier one.

    Returns:
        The request: with a status, it was answered before; without, the caller carries it out.

    Raises:
        KeyRefusedError: the key is no key, belongs to another request, or the first one has no answer yet.
    """
    if not _KEY.fullmatch(key):
        says = "An Idempotency-Key has 1 to 200 visible characters of ASCII, such as a UUID."
        raise KeyRefusedError(problem(422, says))
    digest = hashlib.sha256(f"{path}\n".encode() + body).hexdigest()
    with transaction.atomic():
        RepeatableRequest.objects.filter(created_at__lt=timezone.now() - KEEP_FOR).delete()
        found, is_new = RepeatableRequest.objects.get_or_create(
            token=token, key=key, defaults={"digest": digest}
        )
    if not is_new:
        _refuse_other(found, digest)
    return found


def _refuse_other(found: RepeatableRequest, digest: str) -> None:
    if found.digest != digest:
        says = (
            f"The Idempotency-Key “{found.key}” came with another address or body at "
            f"{found.created_at:%Y-%m-%d %H:%M} UTC. Nothing was done. Use a new key for a new request."
        )
        raise KeyRefusedError(problem(422, says, kind=KEY_REUSED))
    if found.status is None:
        says = (
            f"The first request with the Idempotency-Key “{found.key}” has no answer yet, or was cut off. "
            "Wait a little and repeat it; if this stays, look whether it was carried out, then use a new key."
        )
        raise KeyRefusedError(problem(409, says))


def finish(request: RepeatableRequest, status: int, body: bytes) -> None:
    """Keep the answer of a request that was carried out; forget one that was refused or failed.

    A refused request changed nothing, so it may be repeated with the same key once its cause is gone.
    """
    stored = RepeatableRequest.objects.filter(pk=request.pk)
    if 200 <= status < 300:
        stored.update(status=status, body=body)
    else:
        stored.delete()


log = logging.getLogger(__name__)
PREFIX = "/api/"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class RateLimitHeaders(MiddlewareMixin):
    """Middleware that adds headers of the rate limit to each answer of the API.

    Requests without a valid token, which cost little, are counted by address once they are answered.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if not request.path.startswith(PREFIX):
            return response
        if hasattr(request, "api_usage"):
            policy, usage = "token", request.api_usage
        else:
            key: Key = "ip" if request.META.get("REMOTE_ADDR") else _no_address
            policy, usage = "address", count_request(request, "api-address", key)
            if usage and usage["should_limit"]:
                response = too_many_requests("Your address, without a token,", usage)
        if usage:
            _add_headers(response, policy, usage)
        return response


class ApiMiddleware(MiddlewareMixin):
    """Middleware of the API: answers to keep, and words for a wrong method."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if not request.path.startswith(PREFIX):
            return response
        if response.status_code == 405:
            response = _wrong_method(request, response["Allow"])
        found = getattr(request, "api_repeatable", None)
        if found and response.status_code != 500 and not getattr(response, "outcome_is_unknown", False):
            finish(found, response.status_code, response.content)
        return response


def _wrong_method(request: HttpRequest, allowed: str) -> HttpResponse:
    detail = f"{request.path[:200]} does not take {request.method}; it takes {allowed}."
    response = problem_response(problem(405, detail))
    response["Allow"] = allowed
    return response


def _add_headers(response: HttpResponse, policy: str, usage: dict[str, Any]) -> None:
    left = max(0, usage["limit"] - usage["count"])
    seconds = _SECONDS[settings.API_RATE[-1]]
    response["RateLimit-Policy"] = f'"{policy}";q={usage["limit"]};w={seconds}'
    response["RateLimit"] = f'"{policy}";r={left};t={usage["time_left"]}'
    if response.status_code == 429:
        response["Retry-After"] = str(usage["time_left"] or 1)


def count_request(request: HttpRequest, group: str, key: Key) -> dict[str, Any] | None:
    """Count a request; None while Redis does not answer, when none is refused."""
    try:
        usage: dict[str, Any] | None = get_usage(
            request, group=group, key=key, rate=settings.API_RATE, increment=True
        )
    except RedisError as error:
        log.warning("Redis does not answer, so requests of the API go uncounted: %s", error)
        return None
    return usage


def _no_address(_group: str, _request: HttpRequest) -> str:
    """Key of requests through a socket without addresses, which count together."""
    return "none"


def too_many_requests(sender: str, usage: dict[str, Any]) -> HttpResponse:
    detail = (
        f"{sender} has sent more than {usage['limit']} requests. Go on in {usage['time_left'] or 1} seconds."
    )
    return problem_response(problem(429, detail))
