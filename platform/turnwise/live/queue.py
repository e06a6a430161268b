"""Jobs that pages and calls of the API give to the worker, and what is said when Redis takes none."""

import logging
from collections.abc import Callable

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

STARTS_LATER = _(
    "The job queue does not answer. What you asked for is stored, and starts by itself within about a minute "
    "once Redis is back."
)
NOT_STARTED = _("The job queue does not answer, so nothing was started. Try again once Redis is back.")


def is_sent(send: Callable[[], object]) -> bool:
    """Whether the queue took what `send` gives it; if not, nothing of it is done later."""
    try:
        # A Redis that is stopped would take a job from the socket, and hand it out, once it goes on.
        cache.get("turnwise.live.queue")
        send()
    except (OperationalError, RedisError) as error:
        log.warning("The job queue does not answer: %s", error)
        return False
    return True


def send_or_tell(request: HttpRequest, send: Callable[[], object]) -> None:
    """Send a job for something that is stored; the timer sends it if the queue does not take it now."""
    if not is_sent(send):
        messages.warning(request, STARTS_LATER)
