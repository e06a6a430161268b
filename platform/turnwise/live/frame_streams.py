"""Frames that a piece of work sends while it is done, and its result."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Generic, TypeVar

from turnwise.live.frames import Frame, Tell

Result = TypeVar("Result")


class FrameStream(Generic[Result]):
    """Frames of a piece of work, in the order in which it sends them.

    Args:
        work: called with a function that sends a frame; returns the result.
    """

    def __init__(self, work: Callable[[Tell], Coroutine[Any, Any, Result]]) -> None:
        self._work = work
        self._task: asyncio.Task[Result] | None = None

    async def frames(self) -> AsyncIterator[Frame]:
        """Begin the work and yield its frames until it is done. A reader that leaves early cancels it."""
        sent: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._task = task = asyncio.create_task(self._work(sent.put))
        task.add_done_callback(lambda _: sent.put_nowait(None))
        try:
            while (frame := await sent.get()) is not None:
                yield frame
        finally:
            task.cancel()

    def result(self) -> Result:
        """Return what the work returned, or raise its error; call it after the last frame."""
        assert self._task is not None
        return self._task.result()
