"""Sign-in by a confirmed e-mail address."""

from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from turnwise.accounts.models import User


def user_with_mailbox(written: str) -> User | None:
    """Active person who has confirmed this e-mail address."""
    if "@" not in written:
        return None
    found = EmailAddress.objects.filter(email__iexact=written.strip(), verified=True, user__is_active=True)
    address = found.select_related("user").first()
    return address.user if address else None


class MailboxBackend(ModelBackend):
    """Authenticates people who write a confirmed e-mail address instead of their name."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **_: Any
    ) -> User | None:
        user = user_with_mailbox(username or "")
        return user if user and password and user.check_password(password) else None
