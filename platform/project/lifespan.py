import logging
from contextlib import AsyncExitStack

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, LifespanScope

from bots.hosting import Hosting
from dialogues import batches, database

log = logging.getLogger(__name__)


class Lifespan:
    """The resident bots live as long as the server process."""

    async def __call__(
        self, scope: LifespanScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        await receive()
        async with AsyncExitStack() as until_shutdown:
            try:
                await until_shutdown.enter_async_context(Hosting())
            except Exception as error:
                log.exception("The bots cannot be started")
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        batches.close_connections()
        database.close_connections()
        await send({"type": "lifespan.shutdown.complete"})
