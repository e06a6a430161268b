import asyncio
from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, LifespanScope, WebSocketScope
from django.urls import re_path

from turnwise.bots.hosting.host_process import Hosting
from turnwise.crowd.urls import websocket_urlpatterns as of_previews
from turnwise.live import batches, database, layer
from turnwise.live.metrics import publishing
from turnwise.live.subprocesses import tune_garbage_collection
from turnwise.operating.urls import websocket_urlpatterns as of_operators
from turnwise.project.asgi_middleware import turn_away
from turnwise.project.system import alarms
from turnwise.tasks.urls import websocket_urlpatterns as of_tasks


class Lifespan:
    """Lifespan that serves sockets and pages immediately, and loads the bots in the background."""

    async def __call__(
        self, scope: LifespanScope, receive: ASGIReceiveCallable, send: ASGISendCallable
    ) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        layer.process_layer().here()  # begins the line to other processes, which /readyz tells of
        publishing.start()
        alarms.start()
        async with Hosting():
            tune_garbage_collection()
            await receive()
        alarms.stop()
        await asyncio.to_thread(publishing.stop)
        batches.close_connections()
        database.close_connections()
        await send({"type": "lifespan.shutdown.complete"})


NOWHERE = "There is nothing to connect to at this address. Open the study link again.\n"


async def nowhere(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """For every other address: without it Channels raises, which fills the log with tracebacks."""
    await turn_away(scope, receive, send, status=404, reason="nowhere", say=NOWHERE)


# Django's `re_path` is typed for views; Channels' router takes its result for consumers too.
elsewhere: Any = nowhere
websocket_urlpatterns: Any = [*of_tasks, *of_operators, *of_previews, re_path("", elsewhere)]
