"""Who may see what: the one place that decides it for people who sign in.

Views narrow every queryset through `visible_to` and never check ownership themselves.
"""

from typing import TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Model, QuerySet

from accounts.models import User

M = TypeVar("M", bound=Model)


def visible_to(user: User | AnonymousUser, things: QuerySet[M], *, owner: str) -> QuerySet[M]:
    """Narrow `things` to those whose `owner` path ends at this person; admins see all."""
    if not user.is_authenticated or not user.is_active:
        return things.none()
    if user.is_superuser:
        return things
    return things.filter(**{owner: user})
