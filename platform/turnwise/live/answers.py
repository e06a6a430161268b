"""What calls of the REST API answer, for /api/openapi.json: what is asked for, or an error in words."""

from typing import Any

from ninja import Field, Schema


class ErrorOut(Schema):
    """Nothing was changed."""

    error: str = Field(description="What is wrong, which value, and what to do.")
    problems: list[dict[str, Any]] | None = Field(
        None, description="Of each wrong field: which, and its cure."
    )


def answers(out: Any, *errors: int, status: int = 200, has_body: bool = False) -> dict[Any, Any]:
    """The `response` of an operation.

    Args:
        out: schema of what is asked for.
        errors: statuses of errors beside 401, which every call may get.
        status: of what is asked for.
        has_body: whether it reads a body, which may be no JSON (400), too long (413) or wrong (422).
    """
    of_body = {400, 413, 422} if has_body else set()
    return {status: out, frozenset({401, *of_body, *errors}): ErrorOut}
