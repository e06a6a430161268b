"""Mail to people who sign in, or who are invited to."""

import logging
import smtplib

from allauth.account.models import EmailAddress
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email
from django.utils.translation import gettext as _

from turnwise.accounts.models import User

log = logging.getLogger(__name__)


def mailbox_of(user: User) -> str:
    """Confirmed e-mail address of a person; empty if they have none."""
    confirmed = EmailAddress.objects.filter(user=user, verified=True).order_by("-primary", "pk").first()
    return confirmed.email if confirmed else ""


def confirm_address(user: User, address: str) -> None:
    """Store an address that a person has shown to be theirs, unless somebody else has confirmed it."""
    if EmailAddress.objects.filter(email__iexact=address, verified=True).exclude(user=user).exists():
        return
    EmailAddress.objects.update_or_create(
        user=user, email=address.lower(), defaults={"verified": True, "primary": True}
    )
    user.email = address.lower()
    user.save(update_fields=["email"])


def checked_address(address: str) -> str:
    """An e-mail address without spaces around it; empty stays empty.

    Raises:
        ValidationError: it is not an address.
    """
    address = address.strip()
    if address:
        try:
            validate_email(address)
        except ValidationError:
            raise ValidationError(
                _("“%(address)s” is not an e-mail address, such as ada@example.org.")
                % {"address": address[:100]}
            ) from None
    return address


def send(address: str, subject: str, text: str) -> bool:
    """Send a mail now; False if mail is off, or if the server refused it or cannot be reached."""
    if not settings.MAIL_FROM or not address:
        return False
    try:
        EmailMessage(" ".join(subject.split()), text, to=[address]).send()
    except (OSError, smtplib.SMTPException) as error:
        log.error("A mail was not sent: %s: %s", type(error).__name__, error)
        return False
    return True
