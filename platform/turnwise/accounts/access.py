"""Who may see what: the one place that decides it for people who sign in.

Views narrow every queryset through `visible_to` and never check ownership themselves.
"""

from typing import TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, Q, QuerySet

from turnwise.accounts.models import User

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
