"""Groups that a person may see, and those that they administer."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from turnwise.accounts.models import User
from turnwise.groups.models import Group, Membership


def groups_of(user: User | AnonymousUser) -> QuerySet[Group]:
    """Groups of which this person is a member; all for an admin of the installation."""
    if user.is_authenticated and user.is_active and user.is_superuser:
        return Group.objects.all()
    return joined_groups_of(user)


def joined_groups_of(user: User | AnonymousUser) -> QuerySet[Group]:
    """Groups of which this person is a member, also if they may see all others."""
    if not user.is_authenticated or not user.is_active:
        return Group.objects.none()
    # A subquery, so that pages can count all members.
    return Group.objects.filter(pk__in=Membership.objects.filter(person=user.pk).values("group"))


def administered_groups_of(user: User | AnonymousUser) -> QuerySet[Group]:
    """Groups that this person may change: as admin of the group, or of the installation."""
    if not user.is_authenticated or user.is_superuser:
        return groups_of(user)
    own = Membership.objects.filter(person=user.pk, is_admin=True)
    return Group.objects.filter(pk__in=own.values("group"))
