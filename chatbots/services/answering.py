"""Contexts that a service is answering at the same time: one asyncio task each.

The bot's thread drives the event loop inside `step`, which returns as soon as a reply is finished, a text
has grown, or a request was added or cancelled.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

from chatbots.base import Answering, Context
from chatbots.errors import last_line
from chatbots.replies import Failure, Response

STEP_SECONDS = 0.25
"""Longest time of a step, after which hosting looks for requests whose deadline has passed."""

CANCEL_SECONDS = 0.02
"""Longest time given to cancelled requests to close their connections."""

Show = Callable[[str], None]
"""Takes the visible text of a reply so far, each time it has grown."""

Answer = Callable[[Context, Show], Coroutine[Any, Any, Response]]
"""Answers one context; raises an exception for a failure."""


class ServiceAnswering(Answering):
    """Answers each context in a task of its own, so that a slow reply delays no other.

    Args:
        runner: drives the event loop; its thread calls all methods but `wake`.
        answer: answers one context.
        parallel: largest number of tasks at once, at least 1.
    """

    def __init__(self, runner: asyncio.Runner, answer: Answer, parallel: int) -> None:
        """Start without contexts."""
        self._runner, self._answer, self._parallel = runner, answer, parallel
        self._loop = runner.get_loop()
        self._keys = count()
        self._tasks: dict[int, asyncio.Task[Response]] = {}
        self._finished: dict[int, Response | Failure] = {}
        self._grown: dict[int, str] = {}
        self._changed = asyncio.Event()

    @property
    def room(self) -> int:
        """Number of requests that may be sent now."""
        return self._parallel - len(self._tasks)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        """Start a task for each context; the next step sends its request."""
        keys = [next(self._keys) for _ in contexts]
        for key, context in zip(keys, contexts, strict=True):
            task = self._loop.create_task(self._answer(context, partial(self._show, key)))
            self._tasks[key] = task
            task.add_done_callback(partial(self._end, key))
        return keys

    def step(self) -> dict[int, Response | Failure]:
        """Wait up to `STEP_SECONDS` for a change; return the finished replies."""
        if self._tasks and not self._finished:
            self._runner.run(self._until_changed())
        done, self._finished = self._finished, {}
        return done

    def partial_texts(self) -> Mapping[int, str]:
        """Return the texts that grew since the last call, of replies that are not finished."""
        grown, self._grown = self._grown, {}
        return grown

    def cancel(self, keys: Collection[int]) -> None:
        """Cancel the tasks and close their connections."""
        tasks = [self._tasks.pop(key) for key in keys if key in self._tasks]
        for key in keys:
            self._finished.pop(key, None)
            self._grown.pop(key, None)
        for task in tasks:
            task.cancel()
        if tasks:
            self._runner.run(_ended(tasks))

    def wake(self) -> None:
        """End a step that waits, or the next one, early."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._changed.set)

    async def _until_changed(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(STEP_SECONDS):
                await self._changed.wait()
        self._changed.clear()

    def _show(self, key: int, text: str) -> None:
        if key in self._tasks:
            self._grown[key] = text
            self._changed.set()

    def _end(self, key: int, task: "asyncio.Task[Response]") -> None:
        if self._tasks.pop(key, None) is None:
            return  # cancelled by the caller
        self._grown.pop(key, None)
        self._finished[key] = _outcome(task)
        self._changed.set()


def _outcome(task: "asyncio.Task[Response]") -> Response | Failure:
    """Return the result of a finished task; any error, cancellation included, as a failure."""
    if task.cancelled():
        return Failure(RuntimeError("the request was cancelled"))
    error = task.exception()
    if error is None:
        return task.result()
    return Failure(error if isinstance(error, Exception) else RuntimeError(last_line(error)))


async def _ended(tasks: "Sequence[asyncio.Task[Response]]") -> None:
    """Let cancelled tasks close their connections, for a moment."""
    await asyncio.wait(tasks, timeout=CANCEL_SECONDS)
