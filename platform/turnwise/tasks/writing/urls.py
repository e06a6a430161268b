from typing import Any

from django.urls import path

from turnwise.tasks.writing import views
from turnwise.tasks.writing.consumers import WritingConsumer

app_name = "writing"
urlpatterns = [
    path("s/<slug:code>/write/start/", views.start, name="start"),
    path("s/<slug:code>/write/", views.write, name="write"),
]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = WritingConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/writing/<slug:code>/", consumer)]
