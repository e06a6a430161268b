"""Inviting a colleague by a link, which lets in one person, once, within some days."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts.models import Colleague, User

LIFETIME = timedelta(days=7)
MOST_OPEN = 100
MOST_SHOWN = 50


class NotInvitedError(Exception):
    """The link lets nobody in: it was used or taken back, its time is over, or there never was one."""


def invite(whom: str, *, is_admin: bool, by: User, now: datetime | None = None) -> str:
    """A new invitation; returns the secret of its link. It is stored as a hash: nobody can be told it again.

    Args:
        whom: what the list calls them.
        is_admin: whether they become an admin, or a researcher.
        by: an admin.
        now: when.

    Raises:
        ValidationError: nobody is named, or too many invitations are open.
    """
    whom, now = " ".join(whom.split()), now or timezone.now()
    if not whom:
        raise ValidationError(_("Say who the link is for, so that you can tell it from others."))
    if open_ones(now).count() >= MOST_OPEN:
        raise ValidationError(
            _("%(n)d invitations are open. Revoke some that are not needed.") % {"n": MOST_OPEN}
        )
    secret = secrets.token_urlsafe(24)
    invitation = Colleague(
        whom=whom, is_admin=is_admin, digest=_digest(secret), invited_by=by, expires_at=now + LIFETIME
    )
    invitation.full_clean()
    invitation.save()
    return secret


def open_ones(now: datetime) -> QuerySet[Colleague]:
    """Invitations by which somebody could come in; those of whom is no admin any more let nobody in."""
    of_admins = Q(invited_by__is_active=True, invited_by__is_superuser=True)
    return Colleague.objects.filter(of_admins, ended_at=None, expires_at__gt=now)


def found(secret: str, *, now: datetime | None = None) -> Colleague:
    """The invitation of a link.

    Raises:
        NotInvitedError: it lets nobody in.
    """
    invitation = open_ones(now or timezone.now()).filter(digest=_digest(secret)).first()
    if invitation is None:
        raise NotInvitedError
    return invitation


@transaction.atomic
def join(secret: str, person: User, *, now: datetime | None = None) -> User:
    """Let somebody in by their link, which ends with that.

    Args:
        secret: of the link.
        person: with name and password, not stored yet.
        now: when.

    Raises:
        NotInvitedError: the link lets nobody in; nobody was added.
    """
    now = now or timezone.now()
    # Who opens the link twice at once comes in once.
    rows = open_ones(now).select_for_update(of=("self",))
    invitation = rows.filter(digest=_digest(secret)).first()
    if invitation is None:
        raise NotInvitedError
    person.is_superuser = person.is_staff = invitation.is_admin
    person.save()
    invitation.ended_at, invitation.joined = now, person
    invitation.save(update_fields=["ended_at", "joined"])
    return person


def take_back(pk: int, *, now: datetime | None = None) -> bool:
    """End an invitation at once; False if it was used, taken back or over already."""
    now = now or timezone.now()
    return bool(Colleague.objects.filter(pk=pk, ended_at=None, expires_at__gt=now).update(ended_at=now))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
