"""Create and change webhooks, rotate their secrets, send test events, and send deliveries again."""

from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from chatbots.services.addresses import check_url
from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.live.published_events import EventType
from turnwise.studies.models import Study
from turnwise.webhooks.models import TEST, Delivery, Webhook
from turnwise.webhooks.outbox import body_of
from turnwise.webhooks.signing import new_secret

MOST_WEBHOOKS = 20


def webhooks_of(user: User) -> QuerySet[Webhook]:
    """Webhooks of a person; all for an admin."""
    found = Webhook.objects.filter(by_mail=False).select_related("study", "owner")
    return visible_to(user, found, owner="owner")


def deliveries_of(webhook: Webhook) -> QuerySet[Delivery]:
    """Deliveries of a webhook, the newest first."""
    return webhook.deliveries.select_related("webhook").order_by("-pk")


@transaction.atomic
def create(owner: User, *, address: str, events: Iterable[str], study: Study | None, site: str) -> Webhook:
    """Create a webhook.

    Args:
        owner: the person who gets the events.
        address: of the receiver.
        events: kinds of events.
        study: the only study whose events are sent; None: all.
        site: address of this installation, without a slash at its end.

    Raises:
        ValidationError: a value is refused, or there are too many webhooks; nothing was stored.
    """
    list(User.objects.select_for_update().filter(pk=owner.pk))  # two at once count one another
    if owner.webhooks.filter(by_mail=False).count() >= MOST_WEBHOOKS:
        raise ValidationError(
            _("You have %(most)d webhooks, and cannot have more. Delete one that you do not need.")
            % {"most": MOST_WEBHOOKS}
        )
    return Webhook.objects.create(
        owner=owner, address=_checked(address), events=_known(events), study=study, site=site
    )


def change(
    webhook: Webhook,
    *,
    address: str | None = None,
    events: Iterable[str] | None = None,
    active: bool | None = None,
) -> Webhook:
    """Change a webhook; None leaves a value as it is.

    Raises:
        ValidationError: a value is refused; nothing was changed.
    """
    if address is not None:
        webhook.address = _checked(address)
    if events is not None:
        webhook.events = _known(events)
    if active is not None:
        webhook.active = active
    webhook.save(update_fields=["address", "events", "active"])
    return webhook


def _checked(address: str) -> str:
    """Refuse an address that cannot be a receiver's, as far as can be told without resolving its name."""
    try:
        return check_url(address)
    except ValueError as error:
        raise ValidationError({"address": f"“{address[:100]}” {str(error).rstrip('.')}."}) from None


def _known(events: Iterable[str]) -> list[str]:
    wanted = set(events)
    if unknown := wanted - {*EventType}:
        raise ValidationError(
            {
                "events": _("There is no event “%(event)s”. Choose from: %(known)s.")
                % {"event": min(unknown)[:100], "known": ", ".join(EventType)}
            }
        )
    if not wanted:
        raise ValidationError({"events": _("Choose at least one event.")})
    return [str(kind) for kind in EventType if kind in wanted]


def rotate_secret(webhook: Webhook) -> str:
    """Replace the secret; for a day, the old one signs as well. Returns the new one."""
    webhook.old_secret, webhook.secret, webhook.rotated_at = webhook.secret, new_secret(), timezone.now()
    webhook.save(update_fields=["old_secret", "secret", "rotated_at"])
    return str(webhook.secret)


def send_test(webhook: Webhook) -> Delivery:
    """Store a test event, which is sent within seconds.

    Raises:
        ValidationError: the webhook is switched off.
    """
    _refuse_inactive(webhook)
    now = timezone.now()
    body = body_of(webhook, TEST, {}, {"page": webhook.get_absolute_url()}, now=now)
    return Delivery.objects.create(webhook=webhook, event=TEST, subject="", body=body, due_at=now)


@transaction.atomic
def resend(delivery: Delivery) -> Delivery:
    """Have a delivery sent again within seconds, with the same id, in up to eight new attempts.

    Raises:
        ValidationError: the webhook is switched off.
    """
    _refuse_inactive(delivery.webhook)
    found = Delivery.objects.select_for_update(of=("self",)).select_related("webhook").get(pk=delivery.pk)
    now = timezone.now()
    found.state, found.attempts, found.due_at = Delivery.State.WAITING, 0, now
    found.save(update_fields=["state", "attempts", "due_at"])
    return found


def _refuse_inactive(webhook: Webhook) -> None:
    if not webhook.active:
        raise ValidationError(_("This webhook is switched off. Switch it on first."))
