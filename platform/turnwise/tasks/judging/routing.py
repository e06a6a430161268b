from typing import Any

from django.urls import path

from turnwise.tasks.judging.consumers import JudgingConsumer

# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = JudgingConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/batches/<uuid:public_id>/", consumer)]
