"""Permissions on a study, and the roles that have them: the only place that decides who may do what.

`studies.queries.studies_of` narrows studies to those on which a person has a permission; `permissions_of`
tells all permissions of a person on one study. Both read `ROLE_PERMISSIONS`.
"""

from collections.abc import Iterable, Mapping

from django.contrib.auth.models import AnonymousUser
from django.db import models
from django.db.models import OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.groups.models import Membership
from turnwise.studies.models import Role, Share, Study


class Permission(models.TextChoices):
    """What a person may do on a study. The labels are the rows of the table in docs/people.md."""

    READ = "read", _("read the report, the conversations or items with all answers, and these as files")
    REVIEW = (
        "review",
        _(
            "see the monitor, quality flags, the plan, machine judges and the pages of workers; keep or "
            "exclude flagged workers; adjudicate"
        ),
    )
    BUNDLE = "bundle", _("make and download the bundle, which has personal data and settings of bots")
    CHANGE = "change", _("edit, rehearse, open and close it, manage its workers, and everything else")
    PAY = "pay", _("see and note payments, give bonuses, approve and reject at panels")
    SHARE = "share", _("share it, transfer it, and publish its report")


EVERYTHING = frozenset(Permission)
"""Permissions of the owner, and of admins of the installation."""

ROLE_PERMISSIONS: Mapping[Role, frozenset[Permission]] = {
    Role.EDITOR: frozenset({Permission.READ, Permission.REVIEW, Permission.BUNDLE, Permission.CHANGE}),
    Role.REVIEWER: frozenset({Permission.READ, Permission.REVIEW}),
    Role.READER: frozenset({Permission.READ}),
}
GRANTED_BY: Mapping[Permission, str] = {Permission.PAY: "may_pay", Permission.BUNDLE: "may_bundle"}
"""Permissions that a share can add to its role, and the field that does."""


def shares_granting(*permissions: Permission) -> QuerySet[Share]:
    """Shares that grant all of these permissions."""
    shares = Share.objects.order_by()
    for permission in permissions:
        granted = Q(role__in=[role for role, has in ROLE_PERMISSIONS.items() if permission in has])
        if permission in GRANTED_BY:
            granted |= Q(**{GRANTED_BY[permission]: True})
        shares = shares.filter(granted)
    return shares


def held_by(person: int | OuterRef) -> Q:
    """Condition for shares with this person, or with one of their groups."""
    return Q(person=person) | Q(group__memberships__person=person)


def accessible_studies(user: User | AnonymousUser, permission: Permission) -> QuerySet[Study]:
    """Studies on which this person has the permission.

    Rehearsals belong to the team: only people who may change the study see its rehearsal. It is not shared on
    its own.
    """
    real = Study.objects.filter(rehearsal_of=None) if permission == Permission.SHARE else Study.objects.all()
    if not user.is_authenticated or not user.is_active:
        return Study.objects.none()
    if user.is_superuser:
        return real
    own = Q(owner=user.pk)
    if permission == Permission.SHARE:
        return real.filter(own)
    shared = shares_granting(permission).filter(held_by(user.pk)).values("study")
    team = shares_granting(permission, Permission.CHANGE).filter(held_by(user.pk)).values("study")
    return real.filter(own | Q(pk__in=shared) | Q(rehearsal_of__in=team))


def permissions_of(user: User | AnonymousUser, study: Study) -> frozenset[Permission]:
    """All permissions of this person on the study; one query unless they own it."""
    if not user.is_authenticated or not user.is_active:
        return frozenset()
    if user.is_superuser or study.owner_id == user.pk:
        return EVERYTHING - ({Permission.SHARE} if study.rehearsal_of_id else set())
    shared = Share.objects.filter(held_by(user.pk), study=study.rehearsal_of_id or study.pk)
    found = granted_by(shared.order_by())
    return frozenset() if study.rehearsal_of_id and Permission.CHANGE not in found else found


def granted_by(shares: Iterable[Share]) -> frozenset[Permission]:
    """Permissions that these shares grant together."""
    found: set[Permission] = set()
    for share in shares:
        found |= ROLE_PERMISSIONS[Role(share.role)]
        found |= {permission for permission, field in GRANTED_BY.items() if getattr(share, field)}
    return frozenset(found)


def may(user: User | AnonymousUser, permission: Permission, study: Study) -> bool:
    """True if this person has the permission on the study."""
    return permission in permissions_of(user, study)


def readers_of(study: Study) -> QuerySet[User]:
    """People with whom the study is shared, on their own or through a group; without its owner."""
    shares = study.shares.order_by()
    members = Membership.objects.filter(group__in=shares.exclude(group=None).values("group"))
    shared = Q(pk__in=shares.exclude(person=None).values("person")) | Q(pk__in=members.values("person"))
    return User.objects.filter(shared, is_active=True).exclude(pk=study.owner_id)
