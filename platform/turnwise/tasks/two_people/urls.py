from typing import Any

from django.urls import path

from turnwise.tasks.two_people import lobby
from turnwise.tasks.two_people.lobby import LobbyConsumer

app_name = "two_people"
urlpatterns = [
    path("s/<slug:code>/meet/start/", lobby.start, name="start"),
    path("s/<slug:code>/meet/", lobby.talk, name="talk"),
]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = LobbyConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/lobby/<slug:code>/", consumer)]
