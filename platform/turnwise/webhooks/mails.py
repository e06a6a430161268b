"""Events by mail: what people choose, the text of a mail, and links that end all of them."""

import json
from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils.translation import gettext as _

from turnwise.accounts.mail import mailbox_of
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.live.published_events import EventType
from turnwise.studies.models import Study
from turnwise.webhooks.models import EVENT_TITLES, Delivery, Webhook

_SALT = "webhooks.mails"
LINK_LIFETIME = timedelta(days=365)
"""Time for which the link in a mail ends all mails."""


class NoMailboxError(Exception):
    """No mail can be sent: mail is off, or the owner has no confirmed address."""


def chosen_events(user: User) -> list[str]:
    """Kinds of events that are mailed to this person."""
    row = Webhook.objects.filter(owner=user, by_mail=True, active=True).first()
    return list(row.events) if row else []


def choose_events(user: User, events: Iterable[str], *, site: str) -> None:
    """Mail events of these kinds to this person from now on; none ends all mails.

    Args:
        user: the person.
        events: kinds of events.
        site: address of this installation, without a slash at its end.
    """
    wanted = set(events)
    kinds = [str(kind) for kind in EventType if kind in wanted]
    Webhook.objects.update_or_create(
        owner=user, by_mail=True, defaults={"events": kinds, "active": bool(kinds), "site": site}
    )


def end_link(webhook: Webhook) -> str:
    """Link that ends all mails to a person without signing in."""
    token = signing.dumps(webhook.owner_id, salt=_SALT)
    return webhook.site + reverse("webhooks:end_mails", args=[token])


def user_of_link(token: str) -> User | None:
    """Person whose mails a link ends; None if the link is invalid or too old."""
    try:
        pk = signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)
    except signing.BadSignature:
        return None
    return User.objects.filter(pk=pk).first()


def end_mails(user: User) -> None:
    """End all mails of events to a person. Idempotent."""
    Webhook.objects.filter(owner=user, by_mail=True).update(active=False)


def send_mail(delivery: Delivery) -> None:
    """Mail one event to the owner of its webhook.

    Raises:
        NoMailboxError: nothing can be mailed.
        smtplib.SMTPException: the mail server refused it.
        OSError: the mail server cannot be reached.
    """
    webhook = delivery.webhook
    address = mailbox_of(webhook.owner)
    if not settings.MAIL_FROM or not address:
        raise NoMailboxError(_("Mail is switched off here, or the person has no confirmed e-mail address."))
    end = end_link(webhook)
    headers = {"List-Unsubscribe": f"<{end}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    headers["Message-ID"] = f"<{delivery.message.hex}@{settings.MAIL_FROM.rpartition('@')[2]}>"
    subject = " ".join(f"{EVENT_TITLES[EventType(delivery.event)]}: {_name_of(delivery.subject)}".split())
    EmailMessage(subject, _text_of(delivery, subject, end), to=[address], headers=headers).send()


def _text_of(delivery: Delivery, subject: str, end: str) -> str:
    data = json.loads(delivery.body)["data"]
    lines = [f"{key.replace('_', ' ')}: {value}" for key, value in data.items() if key not in ("page", "api")]
    return _(
        "%(subject)s\n\n%(lines)s\n\n%(page)s\n\n"
        "You get this mail because you work on it. Choose what is mailed to you:\n%(choice)s\n"
        "End all of these mails:\n%(end)s\n"
    ) % {
        "subject": subject,
        "lines": "\n".join(lines),
        "page": data.get("page", ""),
        "choice": delivery.webhook.site + reverse("webhooks:mail_choice"),
        "end": end,
    }


def _name_of(subject: str) -> str:
    """Title of the study or bot of a delivery; its number if it is gone."""
    kind, _space, pk = subject.partition(" ")
    found = (Study if kind == "study" else Bot).objects.filter(pk=pk).first()
    return found.title if found else subject
