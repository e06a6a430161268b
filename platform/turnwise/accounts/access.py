"""Access rules: the only place that decides what people who sign in may see.

Views narrow every queryset through `visible_to` and never check ownership themselves. `user_of` finds the
user of a socket, which Django's middleware does not reach.
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
    """Request in a view behind `login_required`, or in an API function behind a token.

    It exists for type checking only: Django creates a plain `HttpRequest`, whose `user` may be anonymous.
    """

    user: User


def user_of(scope: Mapping[str, object]) -> User | None:
    """User of the browser that opened the socket; None if they are not signed in."""
    headers = scope.get("headers") or ()
    sent = "; ".join(value.decode("latin-1") for name, value in headers if name == b"cookie")  # type: ignore[attr-defined]  # pairs of bytes
    request = HttpRequest()
    sessions = import_module(settings.SESSION_ENGINE)
    request.session = sessions.SessionStore(parse_cookie(sent).get(settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    return user if isinstance(user, User) and user.is_active else None


M = TypeVar("M", bound=Model)


def visible_to(user: User | AnonymousUser, things: QuerySet[M], *, owner: str) -> QuerySet[M]:
    """Narrow `things` to those whose `owner` path leads to this user; admins see all."""
    if not user.is_authenticated or not user.is_active:
        return things.none()
    if user.is_superuser:
        return things
    return things.filter(**{owner: user})


def shared_with(
    user: User | AnonymousUser, things: QuerySet[M], *, owner: str, named: str, everybody: Q
) -> QuerySet[M]:
    """Narrow `things` to those that this user owns or that are shared with them.

    Args:
        user: the user.
        things: queryset of things of all owners.
        owner: lookup path to the owner.
        named: lookup path to the users with whom a thing is shared.
        everybody: condition for things shared with all users.
    """
    if not user.is_authenticated or not user.is_active or user.is_superuser:
        return visible_to(user, things, owner=owner)
    return things.filter(Q(**{owner: user}) | Q(**{named: user}) | everybody).distinct()
