"""Responses of the REST API as /api/openapi.json describes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import ValidationError
from ninja import Field, Schema
from ninja.errors import HttpError


class FieldErrorOut(Schema):
    """A wrong field of the request."""

    field: str = Field(description="Its path in the request, such as `configuration.replies`.")
    detail: str = Field(description="What is wrong, and what to do.")
    value: Any = Field(None, description="What was sent, of settings of bots.")


class ProblemOut(Schema):
    """Problem document (RFC 9457). Nothing was changed."""

    type: str = Field(description="Identifies the kind of problem: a section of the manual.")
    title: str = Field(description="The kind of problem in a few words.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="The error, the value, and what to do.")
    errors: list[FieldErrorOut] | None = Field(None, description="One entry for each wrong field.")
    scope: str | None = Field(None, description="The scope that the token lacks.")


def answers(out: Any, *errors: int, status: int = 200, has_body: bool = False) -> dict[Any, Any]:
    """Build the `response` argument of an API operation.

    Args:
        out: schema of the successful response.
        errors: error statuses besides 401, which every call may return.
        status: status of the successful response.
        has_body: whether the call reads a body, which may be no JSON (400), too long (413) or invalid (422).

    Errors name no schema: Ninja would build a model for each of them, a tenth of a server's start. All are
    `ProblemOut`, and `turnwise.project.rest.description` says so.
    """
    of_body = {400, 413, 422} if has_body else set()
    return {status: out, frozenset({401, *of_body, *errors}): None}


def file_answer(*media_types: str, about: str = "The file") -> dict[str, Any]:
    """Build the `openapi_extra` of a call that answers with a file of one of these kinds."""
    content = {each: {"schema": {"type": "string"}} for each in media_types}
    return {"responses": {200: {"description": about, "content": content}}}


def takes_a_file(most: int) -> dict[str, Any]:
    """Build the `openapi_extra` of a call whose body has a file, which may be longer than other bodies.

    Args:
        most: bytes of the largest file, as on the page that takes such files. The body may be a third
            longer: a packed file comes in base64.
    """
    return {"x-max-bytes": most * 4 // 3 + 65_536}


@contextmanager
def refusals_as_conflicts() -> Iterator[None]:
    """Turn the ValidationError of a service into the answer 409 with its words.

    Raises:
        HttpError: the service refused, since what was asked is not possible now.
    """
    try:
        yield
    except ValidationError as error:
        raise HttpError(409, " ".join(error.messages)) from None
