"""Problem documents of the REST API (RFC 9457): one shape for every refusal."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpResponse

CONTENT_TYPE = "application/problem+json"
# Section of the manual that explains each type, and the title of the type.
TYPES: Mapping[int, tuple[str, str]] = {
    400: ("not-json", "The request is not JSON"),
    401: ("no-token", "No valid token"),
    403: ("no-scope", "The token lacks a scope"),
    404: ("not-found", "Not found"),
    405: ("wrong-method", "The address does not take this method"),
    409: ("conflict", "Not possible now"),
    413: ("too-long", "The request is too long"),
    422: ("invalid", "The request is invalid"),
    429: ("too-many", "Too many requests"),
    500: ("failed", "The server failed"),
    503: ("unavailable", "Not available at the moment"),
}
KEY_REUSED = ("key-reused", "The idempotency key belongs to another request")


class InvalidFieldsError(Exception):
    """A request is refused for its fields; nothing was changed.

    Attributes:
        fields: messages by name of the field; the empty name stands for the request as a whole.
    """

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        super().__init__(" ".join(message for messages in fields.values() for message in messages))
        self.fields = fields

    @classmethod
    def of(cls, error: ValidationError) -> "InvalidFieldsError":
        """Build it from an error of a form, a model or a service."""
        by_field = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
        return cls({"" if name == NON_FIELD_ERRORS else name: says for name, says in by_field.items()})


def problem(
    status: int,
    detail: str,
    errors: Sequence[Mapping[str, Any]] = (),
    *,
    kind: tuple[str, str] | None = None,
    **members: Any,
) -> dict[str, Any]:
    """Build a problem document.

    Args:
        status: HTTP status.
        detail: what is wrong, with the value, and what to do.
        errors: of each wrong field `field` and `detail`.
        kind: slug and title of the type; None: by status.
        members: further members, such as `scope`.
    """
    slug, title = kind or TYPES.get(status, ("about:blank", "The request failed"))
    address = slug if slug == "about:blank" else f"/manual/api/#{slug}"
    document = {"type": address, "title": title, "status": status, "detail": detail, **members}
    return document | ({"errors": list(errors)} if errors else {})


def problem_response(document: Mapping[str, Any]) -> HttpResponse:
    """Build the HTTP response with this problem document."""
    return HttpResponse(orjson.dumps(document), status=document["status"], content_type=CONTENT_TYPE)
