from typing import Any

from django.urls import include, path

from turnwise.tasks import discovery

_parts = [*discovery.parts_named("urls")]
urlpatterns = [path("", include(each)) for each in _parts]


websocket_urlpatterns: list[Any] = [
    pattern for each in _parts for pattern in getattr(each, "websocket_urlpatterns", ())
]
