from typing import Any

from django.urls import path

from turnwise.crowd.preview_socket import PreviewConsumer

# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = PreviewConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/previews/<int:pk>/", consumer)]
