"""People who sign in: who they are, who joins, who leaves, who is an admin.

Inviting a colleague by a link, which lets in one person, once, within some days.
"""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts.models import Colleague, User

FIRST_ADMIN = "admin"


def create_first_admin() -> tuple[str, str] | None:
    """Create an admin with a generated password if there is none yet.

    Returns:
        Name and password, the only time the password is known; None if an admin exists.
    """
    if User.objects.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(12)
    User.objects.create_superuser(FIRST_ADMIN, password=password)
    return FIRST_ADMIN, password


class UnknownPersonError(ValueError):
    """Something was to be shared with somebody who is not here; nothing was changed."""


def people_named(names: Iterable[str]) -> list[User]:
    """Who signs in by these names.

    Raises:
        UnknownPersonError: nobody does by one of them; says by which.
    """
    wanted = [name.strip() for name in names if name.strip()]
    found = {user.username: user for user in User.objects.filter(username__in=wanted, is_active=True)}
    for name in wanted:
        if name not in found:
            raise UnknownPersonError(f"Nobody signs in here as “{name}”. Check the spelling of their name.")
    return [found[name] for name in dict.fromkeys(wanted)]


def add_person(name: str, *, is_admin: bool) -> tuple[User, str]:
    """Somebody new who may sign in, and the password for their first time, which nobody is told again.

    Raises:
        ValidationError: no name, one that cannot be, or one that somebody has.
    """
    person = User(username=name, is_superuser=is_admin, is_staff=is_admin, has_first_password=True)
    password = secrets.token_urlsafe(12)
    person.set_password(password)
    taken = User.objects.filter(username__iexact=name).first()
    if taken:
        raise ValidationError(_("Somebody already signs in here as “%(name)s”.") % {"name": taken})
    person.full_clean()
    person.save()
    return person, password


def new_password(person: User, *, by: User) -> str:
    """A password for somebody who has lost theirs: for one time, and everywhere they are signed out.

    Raises:
        ValidationError: it is one's own, which one changes.
    """
    _refuse_oneself(person, by)
    password = secrets.token_urlsafe(12)
    person.set_password(password)
    person.has_first_password = True
    person.save(update_fields=["password", "has_first_password"])
    return password


def set_active(person: User, *, active: bool, by: User) -> None:
    """Let somebody sign in, or no more: at once, their tokens too. What is theirs stays.

    Raises:
        ValidationError: it is oneself.
    """
    _refuse_oneself(person, by)
    User.objects.filter(pk=person.pk).update(is_active=active)


def set_admin(person: User, *, admin: bool, by: User) -> None:
    """Let somebody see everything and look after people, or no more.

    Raises:
        ValidationError: it is oneself.
    """
    _refuse_oneself(person, by)
    User.objects.filter(pk=person.pk).update(is_superuser=admin, is_staff=admin)


def _refuse_oneself(person: User, by: User) -> None:
    """So there is always an admin left."""
    if person.pk == by.pk:
        raise ValidationError(_("This is you. Another admin can do that; your password is under Password."))


INVITATION_LIFETIME = timedelta(days=7)
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
    if open_invitations(now).count() >= MOST_OPEN:
        raise ValidationError(
            _("%(n)d invitations are open. Revoke some that are not needed.") % {"n": MOST_OPEN}
        )
    secret = secrets.token_urlsafe(24)
    invitation = Colleague(
        whom=whom,
        is_admin=is_admin,
        digest=_digest(secret),
        invited_by=by,
        expires_at=now + INVITATION_LIFETIME,
    )
    invitation.full_clean()
    invitation.save()
    return secret


def open_invitations(now: datetime) -> QuerySet[Colleague]:
    """Invitations by which somebody could come in; those of whom is no admin any more let nobody in."""
    of_admins = Q(invited_by__is_active=True, invited_by__is_superuser=True)
    return Colleague.objects.filter(of_admins, ended_at=None, expires_at__gt=now)


def invitation_of(secret: str, *, now: datetime | None = None) -> Colleague:
    """The invitation of a link.

    Raises:
        NotInvitedError: it lets nobody in.
    """
    invitation = open_invitations(now or timezone.now()).filter(digest=_digest(secret)).first()
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
    rows = open_invitations(now).select_for_update(of=("self",))
    invitation = rows.filter(digest=_digest(secret)).first()
    if invitation is None:
        raise NotInvitedError
    person.is_superuser = person.is_staff = invitation.is_admin
    person.save()
    invitation.ended_at, invitation.joined = now, person
    invitation.save(update_fields=["ended_at", "joined"])
    return person


def revoke_invitation(pk: int, *, now: datetime | None = None) -> bool:
    """End an invitation at once; False if it was used, taken back or over already."""
    now = now or timezone.now()
    return bool(Colleague.objects.filter(pk=pk, ended_at=None, expires_at__gt=now).update(ended_at=now))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
