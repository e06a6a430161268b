"""Manage user accounts: add people, change roles and access, and invite colleagues by personal links."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts.audit_log import record
from turnwise.accounts.mail import checked_address, confirm_address, mailbox_of, send
from turnwise.accounts.models import Colleague, User
from turnwise.accounts.second_factor import remove_factors

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
    """A user name is not known; nothing was changed."""


def people_named(names: Iterable[str]) -> list[User]:
    """Find active users by name.

    Raises:
        UnknownPersonError: no active user has one of the names; the message says which.
    """
    stripped = [name.strip() for name in names if name.strip()]
    users = {user.username: user for user in User.objects.filter(username__in=stripped, is_active=True)}
    for name in stripped:
        if name not in users:
            raise UnknownPersonError(f"Nobody signs in here as “{name}”. Check the spelling of their name.")
    return [users[name] for name in dict.fromkeys(stripped)]


def add_person(name: str, *, is_admin: bool) -> tuple[User, str]:
    """Create a user, and return it with its initial password, which is not stored in plain text.

    Raises:
        ValidationError: the name is empty, invalid or in use.
    """
    person = User(username=name, is_superuser=is_admin, is_staff=is_admin, has_first_password=True)
    password = secrets.token_urlsafe(12)
    person.set_password(password)
    existing = User.objects.filter(username__iexact=name).first()
    if existing:
        raise ValidationError(_("Somebody already signs in here as “%(name)s”.") % {"name": existing})
    person.full_clean()
    person.save()
    return person, password


def new_password(person: User, *, by: User) -> str:
    """Set a new initial password for another user, which signs them out everywhere.

    Raises:
        ValidationError: the user is the caller, who can change the password instead.
    """
    _refuse_oneself(person, by)
    return _set_initial_password(person)


def _set_initial_password(person: User) -> str:
    password = secrets.token_urlsafe(12)
    person.set_password(password)
    person.has_first_password = True
    person.save(update_fields=["password", "has_first_password"])
    return password


@transaction.atomic
def recover_access(person: User, *, removes_second_factor: bool) -> str:
    """Set a new initial password from the server's shell, for an admin whom no other admin can help.

    Args:
        person: the user, who is signed out everywhere.
        removes_second_factor: whether all factors and recovery codes are removed as well.

    Returns:
        The password, the only time it is known.
    """
    if removes_second_factor:
        remove_factors(person)
    record(person, "accounts:recover_access", "")
    return _set_initial_password(person)


def reset_second_factor(person: User, *, by: User) -> None:
    """Remove the second factor of a person who lost it, and tell them by mail if they have an address.

    Raises:
        ValidationError: the user is the caller.
    """
    _refuse_oneself(person, by)
    remove_factors(person)
    text = _("%(by)s, an admin, has removed the second factor of your account %(name)s at your request.\n")
    send(mailbox_of(person), _("Your second factor was removed"), text % {"by": by, "name": person})


def set_active(person: User, *, active: bool, by: User) -> None:
    """Allow or deny a user's access, including their tokens, immediately. Their data stay.

    Raises:
        ValidationError: the user is the caller.
    """
    _refuse_oneself(person, by)
    User.objects.filter(pk=person.pk).update(is_active=active)


def set_admin(person: User, *, admin: bool, by: User) -> None:
    """Make a user an admin, who sees everything and manages people, or a researcher.

    Raises:
        ValidationError: the user is the caller.
    """
    _refuse_oneself(person, by)
    User.objects.filter(pk=person.pk).update(is_superuser=admin, is_staff=admin)


def _refuse_oneself(person: User, by: User) -> None:
    """Refuse changes of the caller's own account, so that at least one admin remains."""
    if person.pk == by.pk:
        raise ValidationError(_("This is you. Another admin can do that; your password is under Password."))


INVITATION_LIFETIME = timedelta(days=7)
MOST_OPEN = 100
MOST_SHOWN = 50


class NotInvitedError(Exception):
    """The invitation link is invalid: used, revoked, expired or unknown."""


def invite(whom: str, *, is_admin: bool, by: User, email: str = "", now: datetime | None = None) -> str:
    """Create an invitation, and return the secret of its link, of which only a hash is stored.

    Args:
        whom: name in the list of invitations.
        is_admin: True for an admin, False for a researcher.
        by: admin who invites.
        email: address to which the link will be mailed, which joining confirms; empty: none.
        now: time of the invitation.

    Raises:
        ValidationError: the name is empty, or too many invitations are open.
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
        email=checked_address(email),
        is_admin=is_admin,
        digest=_digest(secret),
        invited_by=by,
        expires_at=now + INVITATION_LIFETIME,
    )
    invitation.full_clean()
    invitation.save()
    return secret


def open_invitations(now: datetime) -> QuerySet[Colleague]:
    """Valid invitations: not used, revoked or expired, and made by a current admin."""
    of_admins = Q(invited_by__is_active=True, invited_by__is_superuser=True)
    return Colleague.objects.filter(of_admins, ended_at=None, expires_at__gt=now)


def invitation_of(secret: str, *, now: datetime | None = None) -> Colleague:
    """Find the invitation of a link.

    Raises:
        NotInvitedError: the link is invalid.
    """
    invitation = open_invitations(now or timezone.now()).filter(digest=_digest(secret)).first()
    if invitation is None:
        raise NotInvitedError
    return invitation


@transaction.atomic
def join(secret: str, person: User, *, now: datetime | None = None) -> User:
    """Create the account of an invited person, and end the invitation.

    Args:
        secret: secret of the link.
        person: unsaved user with name and password.
        now: time of joining.

    Raises:
        NotInvitedError: the link is invalid; no account was created.
    """
    now = now or timezone.now()
    # Two simultaneous requests with the same link create one account.
    rows = open_invitations(now).select_for_update(of=("self",))
    invitation = rows.filter(digest=_digest(secret)).first()
    if invitation is None:
        raise NotInvitedError
    person.is_superuser = person.is_staff = invitation.is_admin
    person.save()
    invitation.ended_at, invitation.joined = now, person
    invitation.save(update_fields=["ended_at", "joined"])
    if invitation.email:
        confirm_address(person, invitation.email)
    return person


def revoke_invitation(pk: int, *, now: datetime | None = None) -> bool:
    """Revoke an invitation immediately; False if it was used, revoked or expired before."""
    now = now or timezone.now()
    return bool(Colleague.objects.filter(pk=pk, ended_at=None, expires_at__gt=now).update(ended_at=now))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
