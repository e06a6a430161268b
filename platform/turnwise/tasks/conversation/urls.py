from typing import Any

from django.urls import path

from turnwise.tasks.conversation import preview_pictures, views
from turnwise.tasks.conversation.consumers import DialogueConsumer

app_name = "conversation"
urlpatterns = [
    path("s/<slug:code>/start/", views.start, name="start"),
    path("s/<slug:code>/chat/", views.chat, name="chat"),
    path("studies/<int:pk>/preview/work/picture/", preview_pictures.upload, name="preview_upload"),
    path(
        "studies/<int:pk>/preview/work/pictures/<slug:key>/", preview_pictures.picture, name="preview_picture"
    ),
]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = DialogueConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/dialogues/<uuid:public_id>/", consumer)]
