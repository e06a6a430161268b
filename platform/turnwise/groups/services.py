"""Changes of groups: create, rename, invite, join, leave, and change or remove members."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.groups.models import Group, GroupInvitation, Membership

INVITATION_LIFETIME = timedelta(days=7)
MOST_GROUPS = 50
MOST_OPEN_INVITATIONS = 50


class NotInvitedError(Exception):
    """The invitation link is invalid: used, revoked, expired or unknown."""


@transaction.atomic
def create_group(name: str, *, by: User) -> Group:
    """Create a group whose only member, as its admin, is the caller.

    Raises:
        ValidationError: the name is empty or too long, or the caller administers too many groups.
    """
    if Membership.objects.filter(person=by, is_admin=True).count() >= MOST_GROUPS:
        raise ValidationError(
            _("You administer %(n)d groups already. Delete one that is not needed.") % {"n": MOST_GROUPS}
        )
    group = Group(name=_clean_name(name))
    group.full_clean()
    group.save()
    Membership.objects.create(group=group, person=by, is_admin=True)
    return group


def rename_group(group: Group, name: str) -> None:
    """Give a group another name.

    Raises:
        ValidationError: the name is empty or too long.
    """
    group.name = _clean_name(name)
    group.full_clean()
    group.save(update_fields=["name"])


def _clean_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise ValidationError({"name": _("Write a name for the group, such as the name of the lab.")})
    if len(name) > (most := 80):
        raise ValidationError(
            {
                "name": _("The name has %(n)d characters; it can have up to %(most)d. Shorten it.")
                % {"n": len(name), "most": most}
            }
        )
    return name


@transaction.atomic
def set_group_admin(group: Group, person: int, *, is_admin: bool) -> None:
    """Make a member an admin of the group, or no longer one.

    Raises:
        ValidationError: they are no member, or the last admin.
    """
    member = _locked_member(group, person)
    if not is_admin:
        _refuse_last_admin(group, member)
    member.is_admin = is_admin
    member.save(update_fields=["is_admin"])


@transaction.atomic
def remove_member(group: Group, person: int) -> None:
    """Remove a member, or leave: they no longer see what is shared with the group.

    Raises:
        ValidationError: they are no member, or the last admin.
    """
    member = _locked_member(group, person)
    _refuse_last_admin(group, member)
    member.delete()


def _locked_member(group: Group, person: int) -> Membership:
    """The membership; the lock on the group lets two admins not leave at the same time."""
    Group.objects.select_for_update().get(pk=group.pk)
    member = group.memberships.select_related("person").filter(person=person).first()
    if member is None:
        raise ValidationError(_("This person is not a member of “%(group)s”.") % {"group": group})
    return member


def _refuse_last_admin(group: Group, member: Membership) -> None:
    others = group.memberships.filter(is_admin=True, person__is_active=True).exclude(pk=member.pk)
    if member.is_admin and not others.exists():
        raise ValidationError(
            _(
                "%(person)s is the last admin of “%(group)s”. Make another member an admin first, or delete "
                "the group."
            )
            % {"person": member.person, "group": group}
        )


def invite(
    group: Group, whom: str, *, is_admin: bool, by: User, now: datetime | None = None
) -> tuple[GroupInvitation, str]:
    """Create an invitation.

    Returns:
        The invitation, and the secret of its link, of which only a hash is stored.

    Raises:
        ValidationError: the name is empty or too long, or too many invitations are open.
    """
    whom, now = " ".join(whom.split()), now or timezone.now()
    if not whom:
        raise ValidationError(_("Say who the link is for, so that you can tell it from others."))
    if open_invitations(now).filter(group=group).count() >= MOST_OPEN_INVITATIONS:
        raise ValidationError(
            _("%(n)d invitations are open. Revoke some that are not needed.") % {"n": MOST_OPEN_INVITATIONS}
        )
    secret = secrets.token_urlsafe(24)
    invitation = GroupInvitation(
        group=group,
        whom=whom,
        is_admin=is_admin,
        digest=_digest(secret),
        invited_by=by,
        expires_at=now + INVITATION_LIFETIME,
    )
    invitation.full_clean()
    invitation.save()
    return invitation, secret


def open_invitations(now: datetime) -> QuerySet[GroupInvitation]:
    """Valid invitations: not used, revoked or expired, and made by somebody who may still invite."""
    administers = Membership.objects.filter(
        group=OuterRef("group"), person=OuterRef("invited_by"), is_admin=True
    )
    may_invite = Q(invited_by__is_superuser=True) | Exists(administers)
    return GroupInvitation.objects.filter(
        may_invite, invited_by__is_active=True, ended_at=None, expires_at__gt=now
    )


def invitation_of(secret: str, *, now: datetime | None = None) -> GroupInvitation:
    """Find the invitation of a link.

    Raises:
        NotInvitedError: the link is invalid.
    """
    found = open_invitations(now or timezone.now()).select_related("group", "invited_by")
    invitation = found.filter(digest=_digest(secret)).first()
    if invitation is None:
        raise NotInvitedError
    return invitation


@transaction.atomic
def join(secret: str, person: User, *, now: datetime | None = None) -> Group:
    """Make an account a member of the group, and end the invitation.

    A member stays one, and becomes an admin of the group if the invitation says so.

    Raises:
        NotInvitedError: the link is invalid; nothing was changed.
    """
    now = now or timezone.now()
    # Two simultaneous requests with the same link admit one account.
    rows = open_invitations(now).select_for_update(of=("self",)).select_related("group")
    invitation = rows.filter(digest=_digest(secret)).first()
    if invitation is None:
        raise NotInvitedError
    member, _is_new = Membership.objects.get_or_create(group=invitation.group, person=person)
    if invitation.is_admin and not member.is_admin:
        member.is_admin = True
        member.save(update_fields=["is_admin"])
    invitation.ended_at = now
    invitation.save(update_fields=["ended_at"])
    return invitation.group


def revoke_invitation(group: Group, pk: int, *, now: datetime | None = None) -> bool:
    """Revoke an invitation immediately; False if it was used, revoked or expired before."""
    now = now or timezone.now()
    current = group.invitations.filter(pk=pk, ended_at=None, expires_at__gt=now)
    return bool(current.update(ended_at=now))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
