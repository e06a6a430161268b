"""The description of the API, /api/openapi.json, and the scope that each operation needs."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.conf import settings
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema, get_schema
from ninja.operation import Operation
from typing_extensions import override

from turnwise.accounts.models import Scope
from turnwise.live.http_responses import ProblemOut
from turnwise.live.problems import CONTENT_TYPE, TYPES

MOST_BYTES = 2_621_440
"""Longest body where Django has no limit."""
_READING = frozenset({"GET", "HEAD"})
_OF_BOTS = frozenset({"bots", "audits", "sweeps"})
# Beside what an operation declares: no token, no scope, an unknown query parameter, too many requests,
# PostgreSQL is down.
_EVERYWHERE = (401, 403, 422, 429, 503)
# A POST with an idempotency key: the first one is still under way. (422: it had another body.)
_OF_KEYS = (409,)

IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes it safe to repeat a request: for a day, the same key and body get one answer.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,200}$"},
}
_HEADERS = {
    "RateLimit": {
        "description": 'Requests left and seconds until the count starts anew: `"token";r=1199;t=60`.',
        "schema": {"type": "string"},
    },
    "RateLimit-Policy": {
        "description": "Most requests of a token, or of an address without one, and in how many seconds: "
        '`"token";q=1200;w=60`.',
        "schema": {"type": "string"},
    },
}


class DescribedApi(NinjaAPI):
    """API whose description names scopes, problem documents, rate limits and idempotency keys."""

    @override
    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: dict[str, Any] | None = None
    ) -> OpenAPISchema:
        return _description(self, path_prefix or self.get_root_path(path_params or {}))


@cache  # anyone may ask for it without a token, and it takes a second to make
def _description(api: NinjaAPI, path_prefix: str) -> OpenAPISchema:
    schema = get_schema(api=api, path_prefix=path_prefix)
    first, *others = schema["components"]["schemas"].items()
    problem = ProblemOut.model_json_schema(ref_template="#/components/schemas/{model}")
    of_fields = problem.pop("$defs")
    # After the first one: the order in which a program that reads it has always found them.
    schema["components"]["schemas"] = dict([first]) | of_fields | {"ProblemOut": problem} | dict(others)
    schema["components"]["headers"] = _HEADERS
    for (path, method), operation in operations(api).items():
        details = schema["paths"][path][method.lower()]
        _complete(details, method, scope_of(operation, method))
    return schema


def _complete(details: dict[str, Any], method: str, scope: Scope) -> None:
    details["x-scope"] = scope.value
    details["security"] = [{"Token": [scope.value]}]
    details["description"] = f"{details.get('description', '')}\n\nNeeds the scope `{scope.value}`.".strip()
    statuses = {*_EVERYWHERE, *(_OF_KEYS if method == "POST" else ())}
    responses = details["responses"]
    for status in statuses:
        responses.setdefault(status, {"description": TYPES[status][1]})
    for status, response in responses.items():
        if int(status) >= 400:
            response["content"] = {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
        response["headers"] = {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS}
    if method == "POST":
        details["parameters"] = [*details.get("parameters", ()), IDEMPOTENCY_KEY]


def known_paths(api: NinjaAPI) -> list[str]:
    """All paths of the API, such as /api/studies/{code}."""
    return sorted({path for path, _method in operations(api)})


def operation_at(api: NinjaAPI, route: str, method: str) -> Operation:
    """Operation of a request, by the route that Django resolved, such as api/studies/<slug:code>."""
    return operations(api)[(path_of(route), method)]


def path_of(route: str) -> str:
    """Path of a route as in the description, such as /api/studies/{code}."""
    return "/" + re.sub(r"<(?:[^>:]+:)?([^>]+)>", r"{\1}", route)


def lists_above(api: NinjaAPI, path: str) -> list[str]:
    """Paths of the calls that list what a path such as /api/bots/{name}/audits/{pk} names, in order."""
    parts = path.split("/")
    above = ["/".join(parts[:number]) for number, part in enumerate(parts) if part.startswith("{")]
    return [each for each in above if (each, "GET") in operations(api)]


@cache
def operations(api: NinjaAPI) -> Mapping[tuple[str, str], Operation]:
    """All operations by path, as in the description, and method."""
    return {
        ("/api" + re.sub(r"{[^}:]+:", "{", path), method): operation
        for router in api._get_bound_routers()
        for path, view in router.path_operations.items()
        for operation in view.operations
        for method in operation.methods
    }


def scope_of(operation: Operation, method: str) -> Scope:
    """Scope that an operation needs: the declared one, else by its method and what it is about."""
    if declared := (operation.openapi_extra or {}).get("x-scope"):
        return Scope(declared)
    if method in _READING:
        return Scope.READ
    return Scope.BOTS if _OF_BOTS & {*(operation.tags or ())} else Scope.STUDIES


def most_bytes(operation: Operation) -> int:
    """Longest body that an operation takes: Django's limit, or that of the file in it."""
    declared = (operation.openapi_extra or {}).get("x-max-bytes")
    return int(declared or settings.DATA_UPLOAD_MAX_MEMORY_SIZE or MOST_BYTES)


def query_parameters(operation: Operation) -> list[str]:
    """Names of the query parameters that an operation knows, in the order of their declaration."""
    return [
        name
        for model in operation.models
        if model.__ninja_param_source__ == "query"
        for name in model.__ninja_flatten_map__
    ]
