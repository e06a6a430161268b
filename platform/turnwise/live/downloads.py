"""Streamed downloads."""

from collections.abc import Generator
from typing import Generic, Self, TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

T = TypeVar("T", str, bytes)

CHUNK_SIZE = 64 * 1024  # characters or bytes


class ThreadedChunks(Generic[T]):
    """Chunks of a streamed ASGI response, produced in threads; Django would collect all before sending any.

    Django closes it in the request's thread, where the transaction of an aborted export can be ended.
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
        """Join chunks to at least `CHUNK_SIZE`: a thread and a message for every line would cost too much."""
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
    """Build a streamed download that the browser saves under this name."""
    body = ThreadedChunks(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
