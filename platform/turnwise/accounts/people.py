"""People who sign in: who they are, who joins, who leaves, who is an admin."""

import secrets
from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from turnwise.accounts.models import User


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
