import asyncio

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, LifespanScope
from django.urls import reverse

from bots.hosting import Hosting
from live import batches, database, layer
from live.collector import spare_the_collector


class Lifespan:
    """Serves sockets at once, then pages, then loads the bots: people wait for the first, not for models."""

    async def __call__(
        self, scope: LifespanScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        layer.of_process().here()  # begins the line to other processes, which /readyz tells of
        # All pages, and what finds their addresses by name: half a second that a socket would wait for.
        await asyncio.to_thread(reverse, "crowd:thanks", args=["-"])
        async with Hosting():
            spare_the_collector()
            await receive()
        batches.close_connections()
        database.close_connections()
        await send({"type": "lifespan.shutdown.complete"})
