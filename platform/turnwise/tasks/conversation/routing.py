from typing import Any

from django.urls import path

from turnwise.tasks.conversation.consumers import DialogueConsumer

# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = DialogueConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/dialogues/<uuid:public_id>/", consumer)]
