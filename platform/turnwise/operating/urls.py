from typing import Any

from django.urls import path

from turnwise.operating import views
from turnwise.operating.consumers import OperatorConsumer

app_name = "operating"
urlpatterns = [path("bots/<slug:name>/operate/", views.operate, name="operate")]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = OperatorConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/operating/<slug:name>/", consumer)]
