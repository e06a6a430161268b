from typing import Any

from django.urls import path

from turnwise.tasks.writing.consumers import WritingConsumer

# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = WritingConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/writing/<slug:code>/", consumer)]
