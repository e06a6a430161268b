from typing import Any

from django.urls import path

from turnwise.operating import operator_page
from turnwise.operating.operator_page import OperatorConsumer

app_name = "operating"
urlpatterns = [path("bots/<slug:name>/operate/", operator_page.operate, name="operate")]


# Django's `path` is typed for views; Channels' router takes its result for consumers too.
consumer: Any = OperatorConsumer.as_asgi()
websocket_urlpatterns: Any = [path("ws/operating/<slug:name>/", consumer)]
