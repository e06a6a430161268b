"""The product for `turns.py` and `labelling_queue.py`, without its bound on the frames of one connection.

A person sends a few frames a second and the product ends a connection that sends more. With one
chatter in a closed loop that bound would be all that is measured.
"""

from turnwise.project.asgi import application as application  # first: it sets Django up

from turnwise.crowd import worker_socket  # isort: skip
from django.urls import reverse  # isort: skip

reverse(
    "crowd:thanks", args=["-"]
)  # as the web server does with the product itself: every page is loaded now
worker_socket.BURST = 1_000_000_000
