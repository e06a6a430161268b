"""Send deliveries: claimed in the database, signed, to checked addresses only, retried for a day.

A sender that dies leaves its claim, and the delivery is sent again once the claim has expired. So nothing is
lost, and a receiver may get the same `webhook-id` twice.
"""

import asyncio
import random
import smtplib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import httpcore
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from chatbots.errors import ForbiddenAddressError
from chatbots.services.client import BROKEN
from chatbots.services.network import ConnectionPool
from turnwise.webhooks.mails import NoMailboxError, send_mail
from turnwise.webhooks.models import Delivery
from turnwise.webhooks.signing import signed_headers

TIMEOUT_SECONDS = 10.0
LEASE = timedelta(minutes=2)
"""A claim expires after this time; longer than sending all claimed deliveries takes."""
AT_ONCE = 32
PAUSES = (
    timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=10), timedelta(hours=1),
    timedelta(hours=3), timedelta(hours=6), timedelta(hours=14),
)  # fmt: skip
"""Pauses after a failed attempt: eight attempts over a day."""
MOST_ATTEMPTS = len(PAUSES) + 1
READ_BYTES = 4096
EXCERPT = 300
KEEP_FOR = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of an attempt.

    Attributes:
        delivered: whether the receiver accepted it.
        final: whether trying again makes no sense.
        says: the receiver's answer, or why there is none.
        status: HTTP status of the answer; None without one.
    """

    delivered: bool
    final: bool
    says: str
    status: int | None = None


def send_due(*, now: datetime | None = None) -> int:
    """Send due deliveries; returns their number. Safe to call concurrently."""
    now = now or timezone.now()
    claimed = _claim(now)
    mails = [each for each in claimed if each.webhook.by_mail]
    requests = [each for each in claimed if not each.webhook.by_mail]
    if requests:
        for delivery, outcome in zip(requests, asyncio.run(_send_all(requests, now)), strict=True):
            _record(delivery, outcome, now)
    for delivery in mails:
        _record(delivery, _mailed(delivery), now)
    return len(claimed)


@transaction.atomic
def _claim(now: datetime) -> list[Delivery]:
    """Claim due deliveries, so that no other job sends them."""
    due = Delivery.objects.filter(
        state=Delivery.State.WAITING, due_at__lte=now, webhook__active=True, webhook__owner__is_active=True
    )
    locked = due.select_for_update(skip_locked=True, of=("self",)).select_related("webhook")
    claimed = list(locked.order_by("due_at")[:AT_ONCE])
    for each in claimed:
        each.attempts, each.due_at, each.tried_at = each.attempts + 1, now + LEASE, now
    Delivery.objects.bulk_update(claimed, ["attempts", "due_at", "tried_at"])
    return claimed


def _record(delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    """Store the outcome, unless the claim has expired or the delivery was requested again since."""
    state = Delivery.State.WAITING
    if outcome.delivered:
        state = Delivery.State.DELIVERED
    elif outcome.final or delivery.attempts >= MOST_ATTEMPTS:
        state = Delivery.State.FAILED
    pause = PAUSES[min(delivery.attempts, len(PAUSES)) - 1]
    # Later by chance, so that a receiver that returns does not get everything at the same moment.
    due_at = now + pause * random.uniform(1.0, 1.1)
    mine = Delivery.objects.filter(pk=delivery.pk, due_at=delivery.due_at, state=Delivery.State.WAITING)
    mine.update(state=state, due_at=due_at, status=outcome.status, says=outcome.says)


def _mailed(delivery: Delivery) -> Outcome:
    """Mail one delivery; every failure becomes an outcome."""
    try:
        send_mail(delivery)
    except NoMailboxError as error:
        return Outcome(delivered=False, final=True, says=str(error))
    except (OSError, smtplib.SMTPException) as error:
        says = _("The mail server refused it, or cannot be reached: %(why)s") % {"why": error}
        return Outcome(delivered=False, final=False, says=_storable(says))
    return Outcome(delivered=True, final=False, says="")


async def _send_all(deliveries: Sequence[Delivery], now: datetime) -> list[Outcome]:
    pool = ConnectionPool(AT_ONCE)
    try:
        return list(await asyncio.gather(*(_send(pool, each, now) for each in deliveries)))
    finally:
        await pool.close()


async def _send(pool: ConnectionPool, delivery: Delivery, now: datetime) -> Outcome:
    """Send one delivery; every failure becomes an outcome."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await _exchange(pool, _request(delivery, now))
    except TimeoutError:
        says = _("No answer within %(seconds)g seconds. Answer first, and do slow work afterwards.")
        return Outcome(delivered=False, final=False, says=says % {"seconds": TIMEOUT_SECONDS})
    except ForbiddenAddressError as error:
        return Outcome(delivered=False, final=True, says=_("Nothing was sent: %(why)s") % {"why": error})
    except (*BROKEN, httpcore.ProtocolError, httpcore.TimeoutException, ValueError) as error:
        says = _("The address cannot be reached, or broke the connection: %(why)s") % {
            "why": str(error) or type(error).__name__
        }
        return Outcome(delivered=False, final=False, says=_storable(says))


def _request(delivery: Delivery, now: datetime) -> httpcore.Request:
    webhook, body = delivery.webhook, delivery.body.encode()
    headers = {
        "Host": urlsplit(webhook.address).netloc,
        "User-Agent": "Turnwise",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **signed_headers(webhook.signing_secrets, delivery.message_id, int(now.timestamp()), body),
    }
    return httpcore.Request("POST", webhook.address, headers=[*headers.items()], content=body)


async def _exchange(pool: ConnectionPool, request: httpcore.Request) -> Outcome:
    response = await pool.send(request)
    try:
        if 300 <= response.status < 400:
            return _redirected(response)
        answer = b""
        async for part in response.aiter_stream():
            answer += part
            if len(answer) >= READ_BYTES:
                break
    finally:
        await response.aclose()
    excerpt = _storable(answer[:READ_BYTES].decode("utf-8", "replace"))
    return Outcome(200 <= response.status < 300, final=False, says=excerpt, status=response.status)


def _redirected(response: httpcore.Response) -> Outcome:
    """A redirect is never followed: it could lead where only this machine may go."""
    headers = {name.lower(): value.decode("latin-1") for name, value in response.headers}
    says = _("It redirects to %(target)s, which is not followed. If you trust it, give that address.") % {
        "target": headers.get(b"location", _("nowhere"))
    }
    return Outcome(delivered=False, final=True, says=_storable(says), status=response.status)


def _storable(text: str) -> str:
    """Text as the database takes it, shortened."""
    return text.replace("\x00", "\ufffd")[:EXCERPT]


def delete_old(*, now: datetime | None = None) -> None:
    """Delete deliveries after 30 days, except those that wait."""
    old = (now or timezone.now()) - KEEP_FOR
    Delivery.objects.filter(created_at__lt=old).exclude(state=Delivery.State.WAITING).delete()
