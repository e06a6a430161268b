"""Each request has a thread to itself, and most find one that has a connection."""

import asyncio
from threading import Barrier, BrokenBarrierError, get_ident
from typing import Any

import pytest
from asgiref.sync import SyncToAsync, sync_to_async
from asgiref.testing import ApplicationCommunicator
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, Scope
from django.db import connection, connections

from turnwise.project.asgi import application
from turnwise.project.asgi_middleware import MOST_IDLE, ReusedThreads

SCOPE: Any = {"type": "http"}  # nobody looks at the rest
Seen = tuple[int, int]


def page(meeting: Barrier | None = None) -> Seen:
    """The thread that makes a page, and its session of PostgreSQL; pages may wait for each other."""
    if meeting:
        meeting.wait()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return get_ident(), cursor.fetchone()[0]


class Pages:
    """An application that notes where each of its pages was made."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.kept = ReusedThreads(self)
        self.meeting: Barrier | None = None

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        first = await sync_to_async(page)(self.meeting)
        assert await sync_to_async(page)() == first, "a request stays on its thread"
        self.seen.append(first)

    async def ask(self, at_once: int = 1) -> list[Seen]:
        self.seen, self.meeting = [], Barrier(at_once) if at_once > 1 else None
        await asyncio.gather(*(self.kept(SCOPE, _never, _never) for _ in range(at_once)))
        return self.seen


async def _never(*_args: object) -> Any:
    raise AssertionError("nobody listens or speaks")


@pytest.mark.django_db(transaction=True)
async def test_one_after_the_other_share_a_thread_and_its_connection() -> None:
    pages = Pages()

    seen = [(await pages.ask())[0] for _ in range(3)]

    assert len(set(seen)) == 1
    await _close(pages)


@pytest.mark.django_db(transaction=True)
async def test_those_at_the_same_time_have_a_thread_each_and_few_stay() -> None:
    pages = Pages()

    crowd = await pages.ask(at_once=MOST_IDLE + 3)
    again = await pages.ask(at_once=MOST_IDLE + 3)

    assert len({thread for thread, _ in crowd}) == len({session for _, session in crowd}) == MOST_IDLE + 3
    assert len({session for _, session in crowd} & {session for _, session in again}) == MOST_IDLE
    await _close(pages)


@pytest.mark.django_db(transaction=True)
async def test_a_page_that_fails_gives_its_thread_back() -> None:
    pages = Pages()
    (before,) = await pages.ask()
    pages.meeting = Barrier(2, timeout=0.01)  # nobody comes

    with pytest.raises(BrokenBarrierError):
        await pages.kept(SCOPE, _never, _never)

    assert await pages.ask() == [before]
    await _close(pages)


async def _close(pages: Pages) -> None:
    """End the sessions, for the tests that come after."""
    for thread in pages.kept._idle:
        await asyncio.wrap_future(thread.submit(connections.close_all))


async def test_a_request_changes_its_thread_once_for_all_middleware_and_its_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changes: list[str] = []
    change = SyncToAsync.__call__

    async def counted(self: Any, *arguments: Any, **named: Any) -> Any:
        changes.append(self.func.__qualname__)
        return await change(self, *arguments, **named)

    monkeypatch.setattr(SyncToAsync, "__call__", counted)
    scope = {"type": "http", "method": "GET", "path": "/healthz", "query_string": b""}
    browser = ApplicationCommunicator(application, scope | {"headers": [(b"host", b"localhost")]})

    await browser.send_input({"type": "http.request", "body": b"", "more_body": False})
    answer = await browser.receive_output(timeout=60)

    assert answer["status"] == 200
    assert changes == ["Signal.asend.<locals>.sync_send", "BaseHandler.get_response"]
    await browser.wait(timeout=60)
