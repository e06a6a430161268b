"""What calls of the REST API answer, for /api/openapi.json: what is asked for, or an error in words.

Long files sent while they are made.
"""

from collections.abc import Generator
from typing import Any, Generic, Self, TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
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


T = TypeVar("T", str, bytes)

CHUNK_SIZE = 64 * 1024  # characters or bytes


class ThreadedChunks(Generic[T]):
    """The chunks for an ASGI response, which would otherwise collect all of them before sending the first.

    Django closes it in the thread of the request, where the transaction of an export that was broken off
    can be ended.
    """

    def __init__(self, chunks: Generator[T]) -> None:
        self._chunks: Generator[T] = chunks

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        chunk = await sync_to_async(self._next)()
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    def _next(self) -> T | None:
        """Chunks for one message: a thread and a message for every line would cost more than the lines."""
        found: list[T] = []
        size = 0
        while size < CHUNK_SIZE and (chunk := next(self._chunks, None)) is not None:
            found.append(chunk)
            size += len(chunk)
        return found[0][:0].join(found) if found else None

    def close(self) -> None:
        self._chunks.close()


def attachment(
    request: HttpRequest, chunks: Generator[T], content_type: str, name: str
) -> StreamingHttpResponse:
    """A file that the browser saves under this name."""
    body = ThreadedChunks(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
