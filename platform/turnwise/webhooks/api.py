"""REST API of webhooks: make, change, test and delete them, and read their deliveries."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_often
from turnwise.live.cursors import NEXT, Cursor, Limit, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.published_events import EventType
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.webhooks import services
from turnwise.webhooks.models import LONGEST_ADDRESS, Delivery, Webhook
from turnwise.webhooks.views import RATE, site_of

router = Router(tags=["webhooks"])


class WebhookIn(Schema, extra="forbid"):
    """A new webhook."""

    address: str = Field(
        max_length=LONGEST_ADDRESS, description="Address of the receiver, to which events are sent by POST."
    )
    events: list[EventType] = Field(min_length=1, description="Kinds of events that are sent.")
    study: str | None = Field(
        None, max_length=40, description="Code of the only study whose events are sent; null: all of yours."
    )


class WebhookChange(Schema, extra="forbid"):
    """Values of a webhook to change; null or absent: unchanged."""

    address: str | None = Field(None, max_length=LONGEST_ADDRESS)
    events: list[EventType] | None = Field(None, min_length=1)
    active: bool | None = None


class WebhookOut(Schema):
    """A webhook, without its secret."""

    id: int
    address: str
    events: list[str]
    study: str | None = Field(description="Code of the only study whose events are sent; null: all.")
    active: bool
    created_at: datetime


class WebhookWithSecretOut(WebhookOut):
    """A webhook with its new secret, which is shown this once."""

    secret: str = Field(description="Signs deliveries: `whsec_` and the key in base64. Keep it.")


class DeliveryOut(Schema):
    """An event for a webhook, and what became of it."""

    id: int
    message: str = Field(description="The header webhook-id; the same in every attempt.")
    event: str
    state: str = Field(description="waiting, delivered or failed")
    attempts: int
    created_at: datetime
    tried_at: datetime | None = Field(description="Time of the last attempt; null before the first.")
    due_at: datetime | None = Field(description="Time of the next attempt; null if there is none.")
    status: int | None = Field(description="HTTP status of the last answer; null without one.")
    says: str = Field(description="Beginning of the last answer, or why there was none.")
    body: str = Field(description="JSON as it is sent.")


class DeliveryPage(Schema):
    """A page of deliveries, the newest first."""

    items: list[DeliveryOut]
    next: str | None = NEXT


def _webhook_out(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.pk,
        "address": webhook.address,
        "events": webhook.events,
        "study": webhook.study.code if webhook.study else None,
        "active": webhook.active,
        "created_at": webhook.created_at,
    }


def _delivery_out(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.pk,
        "message": delivery.message_id,
        "event": delivery.event,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "created_at": delivery.created_at,
        "tried_at": delivery.tried_at,
        "due_at": delivery.due_at if delivery.state == Delivery.State.WAITING else None,
        "status": delivery.status,
        "says": delivery.says,
        "body": delivery.body,
    }


def _webhook(request: AuthenticatedHttpRequest, webhook: int) -> Webhook:
    return get_object_or_404(services.webhooks_of(request.user), pk=webhook)


def _refuse_too_often(request: AuthenticatedHttpRequest, what: str) -> None:
    if too_often(request, what, rate=RATE, key="user"):
        raise HttpError(429, "This can be done 60 times an hour. Wait a little.")


@router.get("/webhooks", response=answers(list[WebhookOut]))
def webhooks(request: AuthenticatedHttpRequest) -> list[dict[str, Any]]:
    """List your webhooks, the newest first."""
    return [_webhook_out(each) for each in services.webhooks_of(request.user)]


@router.post("/webhooks", response=answers(WebhookWithSecretOut, 429, status=201, has_body=True))
def make_webhook(request: AuthenticatedHttpRequest, sent: WebhookIn) -> Status[dict[str, Any]]:
    """Make a webhook. The answer has its secret, which is shown this once."""
    _refuse_too_often(request, "webhook")
    study: Study | None = None
    if sent.study is not None:
        study = real_studies_of(request.user).filter(code=sent.study).first()
        if study is None:
            says = f"There is no study “{sent.study}” on which you work. Its code is in its link."
            raise InvalidFieldsError({"study": [says]})
    try:
        made = services.create(
            request.user, address=sent.address, events=sent.events, study=study, site=site_of(request)
        )
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return Status(201, {**_webhook_out(made), "secret": made.secret})


@router.get("/webhooks/{int:webhook}", response=answers(WebhookOut, 404))
def one_webhook(request: AuthenticatedHttpRequest, webhook: int) -> dict[str, Any]:
    """Read a webhook of yours."""
    return _webhook_out(_webhook(request, webhook))


@router.patch("/webhooks/{int:webhook}", response=answers(WebhookOut, 404, has_body=True))
def change_webhook(request: AuthenticatedHttpRequest, webhook: int, sent: WebhookChange) -> dict[str, Any]:
    """Change the address or the events of a webhook, or switch it on or off."""
    found = _webhook(request, webhook)
    try:
        services.change(found, address=sent.address, events=sent.events, active=sent.active)
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return _webhook_out(found)


@router.delete("/webhooks/{int:webhook}", response=answers(list[WebhookOut], 404))
def delete_webhook(request: AuthenticatedHttpRequest, webhook: int) -> list[dict[str, Any]]:
    """Delete a webhook with its deliveries; returns those that are left."""
    _webhook(request, webhook).delete()
    return webhooks(request)


@router.post("/webhooks/{int:webhook}/secret", response=answers(WebhookWithSecretOut, 404, 429))
def rotate_webhook_secret(request: AuthenticatedHttpRequest, webhook: int) -> dict[str, Any]:
    """Replace the secret. For a day, deliveries have a signature by the old one as well."""
    found = _webhook(request, webhook)
    _refuse_too_often(request, "webhook")
    return {**_webhook_out(found), "secret": services.rotate_secret(found)}


@router.post("/webhooks/{int:webhook}/test", response=answers(DeliveryOut, 404, 409, 429, status=201))
def test_webhook(request: AuthenticatedHttpRequest, webhook: int) -> Status[dict[str, Any]]:
    """Send a test event, within seconds."""
    found = _webhook(request, webhook)
    _refuse_too_often(request, "webhook-send")
    with refusals_as_conflicts():
        return Status(201, _delivery_out(services.send_test(found)))


@router.get("/webhooks/{int:webhook}/deliveries", response=answers(DeliveryPage, 400, 404, 422))
def deliveries(
    request: AuthenticatedHttpRequest, webhook: int, cursor: Cursor, limit: Limit
) -> dict[str, Any]:
    """List the deliveries of a webhook, the newest first. They are deleted after 30 days."""
    rows = services.deliveries_of(_webhook(request, webhook))
    found, following = page_of(rows, f"deliveries {webhook}", cursor, limit, newest_first=True)
    return page([_delivery_out(each) for each in found], following)


@router.post(
    "/webhooks/{int:webhook}/deliveries/{int:delivery}/send", response=answers(DeliveryOut, 404, 409, 429)
)
def resend_delivery(request: AuthenticatedHttpRequest, webhook: int, delivery: int) -> dict[str, Any]:
    """Send a delivery again within seconds, with the same webhook-id."""
    row = get_object_or_404(services.deliveries_of(_webhook(request, webhook)), pk=delivery)
    _refuse_too_often(request, "webhook-send")
    with refusals_as_conflicts():
        return _delivery_out(services.resend(row))
