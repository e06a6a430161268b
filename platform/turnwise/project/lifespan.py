from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, LifespanScope

from turnwise.bots.hosting import Hosting
from turnwise.live import batches, database, layer
from turnwise.live.collector import spare_the_collector


class Lifespan:
    """Serves sockets and pages at once, and then loads the bots: nobody waits for models."""

    async def __call__(
        self, scope: LifespanScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        layer.of_process().here()  # begins the line to other processes, which /readyz tells of
        async with Hosting():
            spare_the_collector()
            await receive()
        batches.close_connections()
        database.close_connections()
        await send({"type": "lifespan.shutdown.complete"})
