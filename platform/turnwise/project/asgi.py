import os
import sys

from turnwise.live.subprocesses import paused_garbage_collection

with paused_garbage_collection():
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
    django.setup(set_prefix=False)  # what follows imports models

    from channels.routing import ProtocolTypeRouter, URLRouter

    from turnwise.project.asgi_middleware import (
        BoundedBodies,
        CountedSockets,
        Moving,
        PagesInOneThread,
        ReusedThreads,
        SameOrigin,
    )
    from turnwise.project.sockets import Lifespan, websocket_urlpatterns

    pages = PagesInOneThread()

application = ProtocolTypeRouter(
    {
        "http": Moving(BoundedBodies(ReusedThreads(pages))),  # type: ignore[arg-type]  # Django types it more loosely
        "websocket": SameOrigin(CountedSockets(Moving(URLRouter(websocket_urlpatterns)))),
        "lifespan": Lifespan(),
    }
)

# How long a thread may keep Python from the event loop, which hands on every message of those who talk.
# Several threads that make pages or read conversations would each by turns keep it for five milliseconds.
sys.setswitchinterval(0.0005)
