from typing import Any

from turnwise.tasks import discovery

websocket_urlpatterns: list[Any] = [
    pattern for each in discovery.each("routing") for pattern in each.websocket_urlpatterns
]
