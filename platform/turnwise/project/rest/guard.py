"""Checks of every request of the API: its token, the scope, the rate limit, and repeated requests."""

from collections.abc import Callable
from io import BytesIO

from django.http import HttpRequest, HttpResponse
from ninja.operation import Operation
from ninja.security import HttpBearer

from turnwise.accounts import credentials
from turnwise.accounts.models import ApiToken, Scope, User
from turnwise.live.problems import problem, problem_response
from turnwise.project.rest import middleware
from turnwise.project.rest.description import most_bytes, query_parameters, scope_of
from turnwise.project.rest.middleware import count_request, too_many_requests

HEADER = "Idempotency-Key"


class RefusedError(Exception):
    """A request is answered before its operation runs."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status_code)
        self.response = response


class Token(HttpBearer):
    """A token made on the page Tokens."""

    def __init__(self, operation_at: Callable[[str, str], Operation]) -> None:
        """`operation_at` finds the operation of a route and a method."""
        super().__init__()
        self._operation_at = operation_at

    def authenticate(self, request: HttpRequest, token: str) -> User | None:
        """Find the token's owner, and check scope, rate limit and idempotency key.

        Raises:
            RefusedError: the scope is missing, a query parameter is unknown, there are too many requests, or
                this one was answered before.
        """
        found = credentials.valid_token(token)
        if found is None:
            return None
        request.user = found.owner
        match = request.resolver_match
        assert match
        assert request.method
        request.api_token = found  # type: ignore[attr-defined]
        operation = self._operation_at(match.route, request.method)
        request.api_operation = f"{match.namespace}:{operation.view_func.__name__}"  # type: ignore[attr-defined]
        _count(request, found)
        _refuse_without(found, scope_of(operation, request.method))
        _refuse_unknown_parameters(request, query_parameters(operation))
        _read_body(request, most_bytes(operation))
        _find_repeated(request, found)
        return found.owner


def _refuse_without(token: ApiToken, scope: Scope) -> None:
    if scope in token.scopes:
        return
    has = ", ".join(f"“{each}”" for each in token.scopes) or "none"
    detail = (
        f"The token “{token.title}” lacks the scope “{scope}” ({scope.label}); it has {has}. Make a token "
        "with this scope on the page Tokens."
    )
    raise RefusedError(problem_response(problem(403, detail, scope=scope.value)))


def _refuse_unknown_parameters(request: HttpRequest, known: list[str]) -> None:
    """Refuse a parameter that would be ignored: a misspelt `stat=open` would list every study."""
    unknown = sorted(set(request.GET) - set(known))
    if not unknown:
        return
    cure = f"It knows these: {', '.join(known)}." if known else "This call has none: leave it out."
    errors = [{"field": name, "detail": f"No such query parameter. {cure}"} for name in unknown]
    raise RefusedError(problem_response(problem(422, f"Unknown query parameter. {cure}", errors)))


def _count(request: HttpRequest, token: ApiToken) -> None:
    """Count the request against the token's limit."""
    usage = count_request(request, "api", lambda *_: str(token.pk))
    request.api_usage = usage  # type: ignore[attr-defined]
    if usage and usage["should_limit"]:
        raise RefusedError(too_many_requests("This token", usage))


def _read_body(request: HttpRequest, most: int) -> None:
    """Read a body into memory, unless it is longer than its call takes.

    Django has one limit for all bodies, which is too small for a file.
    """
    sent = request.META.get("CONTENT_LENGTH") or "0"
    length = int(sent) if sent.isdecimal() else 0
    body = b"" if length > most else request.read(most + 1)
    if max(length, len(body)) > most:
        detail = (
            f"The request has {max(length, len(body)):,} bytes or more; this call takes at most {most:,}. "
            "Send less at once, or split the file."
        )
        raise RefusedError(problem_response(problem(413, detail)))
    request._body = body  # where Django's `body` looks first
    request._stream = BytesIO(body)


def _find_repeated(request: HttpRequest, token: ApiToken) -> None:
    key = request.headers.get(HEADER, "")
    if request.method != "POST" or not key:
        return
    try:
        found = middleware.begin(token, key, request.path, request.body)
    except middleware.KeyRefusedError as error:
        raise RefusedError(problem_response(error.document)) from None
    if found.status is None:
        request.api_repeatable = found  # type: ignore[attr-defined]
        return
    request.changes_nothing = True  # type: ignore[attr-defined]  # the audit log has the first one
    response = HttpResponse(bytes(found.body or b""), status=found.status, content_type="application/json")
    response["Idempotent-Replayed"] = "true"
    raise RefusedError(response)
