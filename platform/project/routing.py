from typing import Any

from django.urls import path

from labels.consumers import LabellingConsumer
from labels.judging_consumer import JudgingConsumer

# Django's `path` is typed for views; Channels' router takes its result for consumers too.
dialogue: Any = LabellingConsumer.as_asgi()
batch: Any = JudgingConsumer.as_asgi()
websocket_urlpatterns: Any = [
    path("ws/dialogues/<uuid:public_id>/", dialogue),
    path("ws/batches/<uuid:public_id>/", batch),
]
