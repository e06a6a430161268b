import logging

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, LifespanScope
from channels.db import database_sync_to_async

from bots import host
from dialogues import batches, database

log = logging.getLogger(__name__)


class Lifespan:
    """The resident bots live as long as the server process."""

    async def __call__(
        self, scope: LifespanScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        await receive()
        try:
            await database_sync_to_async(host.start)()
        except Exception as error:
            log.exception("The bots cannot be started")
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await database_sync_to_async(host.close)()
        batches.close_connections()
        database.close_connections()
        await send({"type": "lifespan.shutdown.complete"})
