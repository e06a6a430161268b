"""What a browser is told while a part of the server that its page cannot do without is down."""

import logging

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override
from redis.exceptions import RedisError

from crowd.languages import language_of_visitor

log = logging.getLogger(__name__)

WORDS = {
    "title": _("Please try again in a minute"),
    "say": _("Part of this server is down. Everything that was shown as saved is safe."),
    "cure": _(
        "Wait a minute and try again. If this continues, tell the people who run this server "
        "that Redis does not answer."
    ),
}


class RedisOutage(MiddlewareMixin):
    """Answers with words and 503 where a page needs Redis and it is not there."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not isinstance(exception, RedisError):
            return None
        log.error("Redis does not answer, so %s cannot: %s", request.path, exception)
        with override(language_of_visitor(request)):
            return render(request, "crowd/message.html", WORDS, status=503)
