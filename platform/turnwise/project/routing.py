from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, WebSocketScope
from django.urls import re_path

from turnwise.crowd.routing import websocket_urlpatterns as of_previews
from turnwise.operating.routing import websocket_urlpatterns as of_operators
from turnwise.project.origin import turn_away
from turnwise.tasks.routing import websocket_urlpatterns as of_tasks

NOWHERE = "There is nothing to connect to at this address. Open the study link again.\n"


async def nowhere(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """For every other address: without it Channels raises, which fills the log with tracebacks."""
    await turn_away(scope, receive, send, status=404, reason="nowhere", say=NOWHERE)


# Django's `re_path` is typed for views; Channels' router takes its result for consumers too.
elsewhere: Any = nowhere
websocket_urlpatterns: Any = [*of_tasks, *of_operators, *of_previews, re_path("", elsewhere)]
