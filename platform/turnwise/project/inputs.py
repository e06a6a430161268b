"""What no form and no link of ours sends, and no database takes."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override
from django.views.csrf import csrf_failure

from turnwise.crowd.languages import language_of_visitor

WORDS = {
    "title": _("This cannot be stored"),
    "say": _("What was sent contains a null character, which text cannot have. No changes were made."),
    "cure": _("Go back, remove it (it is invisible, so retype the text), and send it again."),
}


class NoNulls(MiddlewareMixin):
    """Refuses null characters in the query and in forms, in words, before any view hands them on."""

    def process_view(self, request: HttpRequest, *view: Any) -> HttpResponse | None:
        # What the API is sent is JSON, which it reads and checks by itself (api.py).
        is_form = request.method not in ("GET", "HEAD") and not request.path.startswith("/api/")
        sent = [request.GET, request.POST] if is_form else [request.GET]
        if any(_has_null(values) for each in sent for values in each.lists()):
            with override(language_of_visitor(request)):
                return render(request, "crowd/message.html", WORDS, status=400)
        return None


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's answer to a form without its token, in the language of who sent it."""
    with override(language_of_visitor(request)):
        return csrf_failure(request, reason=reason)


def _has_null(named: tuple[str, Iterable[object]]) -> bool:
    name, values = named
    return "\x00" in name or any(isinstance(value, str) and "\x00" in value for value in values)
