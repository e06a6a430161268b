from typing import Any

from django.urls import path

from turnwise.tasks.two_people import views
from turnwise.tasks.two_people.consumers import LobbyConsumer

app_name = "two_people"
urlpatterns = [
    path("s/<slug:code>/meet/start/", views.start, name="start"),
    path("s/<slug:code>/meet/", views.talk, name="talk"),
]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = LobbyConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/lobby/<slug:code>/", consumer)]
