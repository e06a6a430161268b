"""Draining: a server that is replaced finishes what is under way, and then sends its sockets to the next one.

A socket is asked to move between two messages, once every task that its messages began has ended, such as a
reply that is growing. The browser reconnects at once, and nginx leads it to a server that stays.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

MOVED = 1012
"""Close code of a socket whose server is replaced ("service restart" in the register of the IANA)."""

SECONDS_BETWEEN_SOCKETS = 0.005
GLANCE_SECONDS = 0.1


class Socket:
    """An open socket of this process, and the tasks that its messages have begun."""

    def __init__(self) -> None:
        """Nothing is under way, and nobody has asked it to move."""
        self.tasks: set[asyncio.Task[Any]] = set()
        self.is_asked = asyncio.Event()
        self.has_moved = False
        self.moves_itself = False
        """True if its loop closes it between two messages (`message_loop`); else it is closed from here."""
        self.close: Callable[[], Awaitable[None]] | None = None

    async def settled(self) -> None:
        """Wait until no task is under way."""
        while self.tasks:
            await asyncio.wait(list(self.tasks))


_socket: ContextVar[Socket | None] = ContextVar("socket", default=None)
_open: set[Socket] = set()
_requests = 0
_tasks: set[asyncio.Task[Any]] = set()


def this_socket() -> Socket | None:
    """The socket of this flow of control; None outside one."""
    return _socket.get()


def hold(task: asyncio.Task[Any]) -> None:
    """Keep a task until it ends, as the event loop holds it only weakly; its socket moves only then."""
    for held in (_tasks, socket.tasks) if (socket := _socket.get()) else (_tasks,):
        held.add(task)
        task.add_done_callback(held.discard)


@contextmanager
def open_socket() -> Iterator[Socket]:
    """Count a socket as open."""
    socket = Socket()
    token = _socket.set(socket)
    _open.add(socket)
    try:
        yield socket
    finally:
        _open.discard(socket)
        _socket.reset(token)


@contextmanager
def open_request() -> Iterator[None]:
    """Count a request of HTTP as under way."""
    global _requests
    _requests += 1
    try:
        yield
    finally:
        _requests -= 1


async def drain(seconds: float) -> bool:
    """Ask every socket to move, and wait until nothing is under way any more.

    Returns:
        False if something still is after so many seconds.
    """
    try:
        async with asyncio.timeout(seconds):
            while _open or _tasks or _requests:
                for socket in list(_open):
                    if not socket.is_asked.is_set():
                        socket.is_asked.set()
                        await asyncio.sleep(SECONDS_BETWEEN_SOCKETS)
                    elif socket.close and not socket.moves_itself and not socket.tasks:
                        close, socket.close = socket.close, None
                        await close()
                await asyncio.sleep(GLANCE_SECONDS)
    except TimeoutError:
        return False
    return True
