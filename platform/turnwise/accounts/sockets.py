"""Who is signed in at the other end of a socket, to which no middleware of Django's comes."""

from collections.abc import Mapping
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from django.http.cookie import parse_cookie

from turnwise.accounts.models import User


def user_of(scope: Mapping[str, object]) -> User | None:
    """Whose session the browser has that opened the socket; None if they are not signed in, or no more."""
    headers = scope.get("headers") or ()
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")  # type: ignore[attr-defined]  # pairs of bytes
    request = HttpRequest()
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(parse_cookie(sent).get(settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    return user if isinstance(user, User) and user.is_active else None
