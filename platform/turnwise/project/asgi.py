import gc
import os
import sys

# Nothing that is imported is garbage, and looking for some takes a fifth of a start, for which workers wait.
gc.disable()

from django.core.asgi import get_asgi_application  # noqa: E402

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
pages = get_asgi_application()  # sets Django up: what follows imports models

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402

from turnwise.project.asgi_middleware import (  # noqa: E402
    BoundedBodies,
    CountedSockets,
    Moving,
    ReusedThreads,
    SameOrigin,
)
from turnwise.project.sockets import Lifespan, websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": Moving(BoundedBodies(ReusedThreads(pages))),  # type: ignore[arg-type]  # Django types it more loosely
        "websocket": SameOrigin(CountedSockets(Moving(URLRouter(websocket_urlpatterns)))),
        "lifespan": Lifespan(),
    }
)
gc.enable()

# How long a thread may keep Python from the event loop, which hands on every message of those who talk.
# Several threads that make pages or read conversations would each by turns keep it for five milliseconds.
sys.setswitchinterval(0.0005)
