"""Pages on threads that stay, each with its connection to PostgreSQL."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from asgiref.sync import ThreadSensitiveContext
from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope
from django.db import connections

# As many as make pages at the same time on a busy day; more than these end with their page.
MOST_IDLE = 8


class KeptThreads:
    """Gives each request a thread of its own, the one that was free last.

    Django begins a thread and a connection for each request; a session of PostgreSQL that knows no table
    yet takes longer than all the queries of most pages.
    """

    def __init__(self, inner: ASGI3Application) -> None:
        self._inner = inner
        self._idle: list[ThreadPoolExecutor] = []

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        async with self._thread() as thread, ThreadSensitiveContext(executor=thread):
            await self._inner(scope, receive, send)

    @asynccontextmanager
    async def _thread(self) -> AsyncIterator[ThreadPoolExecutor]:
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="page")
        try:
            yield thread
        finally:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(thread)
            else:
                thread.submit(connections.close_all)
                thread.shutdown(wait=False)
