"""What a browser is told while a part of the server that its page cannot do without is down."""

import logging

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

WORDS = {
    "title": "Please try again in a minute",
    "say": "A part of this server is down. Everything that was shown as saved is safe.",
    "cure": "Wait a minute and try again. If it lasts, tell those who run it that Redis does not answer.",
}


class RedisOutage(MiddlewareMixin):
    """Answers with words and 503 where a page needs Redis and it is not there."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, RedisError):
            return None
        log.error("Redis does not answer, so that %s cannot: %s", request.path, exception)
        return render(request, "crowd/message.html", WORDS, status=503)
