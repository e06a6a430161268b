from typing import Any

from django.urls import path

from turnwise.tasks.arena import worker_page
from turnwise.tasks.arena.worker_page import ArenaConsumer

app_name = "arena"
urlpatterns = [
    path("s/<slug:code>/arena/start/", worker_page.start, name="start"),
    path("s/<slug:code>/arena/", worker_page.talk, name="talk"),
]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = ArenaConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/arena/<slug:code>/", consumer)]
