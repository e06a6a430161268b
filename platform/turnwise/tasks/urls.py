from django.urls import include, path

from turnwise.tasks import discovery
from typing import Any

from turnwise.tasks import discovery
from turnwise.tasks import discovery


urlpatterns = [path("", include(each)) for each in discovery.parts_named("urls")]


websocket_urlpatterns: list[Any] = [
    pattern for each in discovery.parts_named("routing") for pattern in each.websocket_urlpatterns
]


routers = [each.router for each in discovery.parts_named("api")]
