"""Who may see what: the one place that decides it for people who sign in.

Views narrow every queryset through `visible_to` and never check ownership themselves.

A request of somebody who is signed in.

Who is signed in at the other end of a socket, to which no middleware of Django's comes.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TypeVar

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.http.cookie import parse_cookie

from turnwise.accounts.models import User


class AuthenticatedHttpRequest(HttpRequest):
    """What a view gets behind `login_required`, and a function of the API behind its token.

    Only types know it: Django makes a plain `HttpRequest`, whose `user` may be anonymous.
    """

    user: User


def user_of(scope: Mapping[str, object]) -> User | None:
    """Whose session the browser has that opened the socket; None if they are not signed in, or no more."""
    headers = scope.get("headers") or ()
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")  # type: ignore[attr-defined]  # pairs of bytes
    request = HttpRequest()
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(parse_cookie(sent).get(settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    return user if isinstance(user, User) and user.is_active else None


M = TypeVar("M", bound=Model)


def visible_to(user: User | AnonymousUser, things: QuerySet[M], *, owner: str) -> QuerySet[M]:
    """Narrow `things` to those whose `owner` path ends at this person; admins see all."""
    if not user.is_authenticated or not user.is_active:
        return things.none()
    if user.is_superuser:
        return things
    return things.filter(**{owner: user})


def shared_with(
    user: User | AnonymousUser, things: QuerySet[M], *, owner: str, named: str, everybody: Q
) -> QuerySet[M]:
    """Narrow `things` that may be shared to those of this person and those that they may see all the same.

    Args:
        user: who.
        things: of any number of people.
        owner: path to whose it is.
        named: path to the people who were named for it.
        everybody: which of them are for all who sign in.
    """
    if not user.is_authenticated or not user.is_active or user.is_superuser:
        return visible_to(user, things, owner=owner)
    return things.filter(Q(**{owner: user}) | Q(**{named: user}) | everybody).distinct()
