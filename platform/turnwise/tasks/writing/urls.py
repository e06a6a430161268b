from typing import Any

from django.urls import path

from turnwise.tasks.writing import worker_page
from turnwise.tasks.writing.worker_page import WritingConsumer

app_name = "writing"
urlpatterns = [
    path("s/<slug:code>/write/start/", worker_page.start, name="start"),
    path("s/<slug:code>/write/", worker_page.write, name="write"),
]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = WritingConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/writing/<slug:code>/", consumer)]
