from typing import Any

from asgiref.typing import ASGIReceiveCallable, ASGISendCallable, WebSocketScope
from django.urls import path, re_path

from labels.consumers import LabellingConsumer
from labels.judging_consumer import JudgingConsumer
from project.origin import turn_away

NOWHERE = "There is nothing to talk to at this address. Open the study link again.\n"


async def nowhere(scope: WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """For every other address: without it Channels raises, which fills the log with tracebacks."""
    await turn_away(scope, receive, send, status=404, reason="nowhere", say=NOWHERE)


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
dialogue: Any = LabellingConsumer.as_asgi()
batch: Any = JudgingConsumer.as_asgi()
elsewhere: Any = nowhere
websocket_urlpatterns: Any = [
    path("ws/dialogues/<uuid:public_id>/", dialogue),
    path("ws/batches/<uuid:public_id>/", batch),
    re_path("", elsewhere),
]
