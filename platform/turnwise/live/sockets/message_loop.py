"""Loop of a consumer over the messages of its browser and of other processes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import Any

from turnwise.live.sockets import draining

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]

FOLLOWED = "turnwise.followed"
"""Key of an ASGI message to send if another one follows at once: our web server writes both together."""


async def dispatch_messages(sources: list[Receive], dispatch: Callable[[Message], Awaitable[None]]) -> None:
    """Pass each message of these sources to `dispatch`, one at a time, until one of the calls raises.

    The loop of Channels does the same with a new task and a new wait for every message, which is a tenth of
    the processor time of a turn. Here each source has one task for as long as the socket is open.
    The tasks share one context: what a handler sets, such as the language, holds for the next messages.

    A socket that is asked to move (`draining`) is closed between two messages.

    Raises:
        StopConsumer: the socket was closed.
        Exception: raised by a source or by `dispatch`.
    """
    loop, context = asyncio.get_running_loop(), copy_context()
    one_at_a_time = asyncio.Lock()

    async def dispatch_from(receive: Receive) -> None:
        while True:
            message = await receive()
            async with one_at_a_time:
                await dispatch(message)

    async def move(socket: draining.Socket) -> None:
        """Close the socket once it is asked to move, between two messages, when none has left a task."""
        await socket.is_asked.wait()
        while True:
            await socket.settled()
            async with one_at_a_time:
                if not socket.tasks:
                    socket.has_moved = True
                    await dispatch({"type": "websocket.disconnect", "code": draining.MOVED})

    steps = [dispatch_from(receive) for receive in sources]
    if socket := draining.this_socket():
        socket.moves_itself = True
        steps.append(move(socket))
    tasks = [loop.create_task(step, context=context) for step in steps]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    try:
        while ended:
            ended.pop().result()
    finally:
        # An error refers to this call, which refers to the tasks, which refer to the error.
        del tasks, ended
