"""Pages of webhooks: a person's list, and one webhook with its deliveries."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.webhooks import services
from turnwise.webhooks.forms import NewWebhookForm, WebhookForm
from turnwise.webhooks.models import Delivery, Webhook

MOST_SHOWN = 100
RATE = "60/h"
_SENT_SOON = timedelta(seconds=15)
"""Time after a request in which the page reloads itself to show what became of a delivery."""


def site_of(request: HttpRequest) -> str:
    """Address of this installation as the browser or program reached it."""
    return request.build_absolute_uri("/").rstrip("/")


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def webhooks(request: AuthenticatedHttpRequest) -> HttpResponse:
    """List the user's webhooks; a POST creates one and shows its secret, once."""
    made: Webhook | None = None
    form = NewWebhookForm(request.POST if request.method == "POST" else None, user=request.user)
    if request.method == "POST":
        if too_often(request, "webhook", rate=RATE, key="user"):
            return too_many(request)
        if form.is_valid():
            try:
                made = services.create(request.user, site=site_of(request), **form.cleaned_data)
            except ValidationError as error:
                form.add_error(None, error)
            else:
                form = NewWebhookForm(None, user=request.user)
    context = {"form": form, "made": made, "webhooks": services.webhooks_of(request.user)}
    return render(request, "webhooks/webhooks.html", context, status=422 if form.errors else 200)


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def webhook(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """A webhook with its newest deliveries; a POST changes its address and events."""
    found = _webhook(request, pk)
    if request.method == "GET":
        return _page(request, found)
    form = WebhookForm(request.POST)
    if form.is_valid():
        try:
            services.change(found, **form.cleaned_data)
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, _("Saved."))
            return redirect(found)
    return _page(request, _webhook(request, pk), form)


def _webhook(request: AuthenticatedHttpRequest, pk: int) -> Webhook:
    return get_object_or_404(services.webhooks_of(request.user), pk=pk)


def _page(request: HttpRequest, found: Webhook, form: forms.Form | None = None, **more: Any) -> HttpResponse:
    now = timezone.now()
    deliveries = list(services.deliveries_of(found)[:MOST_SHOWN])
    context = {
        "webhook": found,
        "form": form or WebhookForm(initial={"address": found.address, "events": found.events}),
        "deliveries": deliveries,
        "most": MOST_SHOWN,
        **more,
    }
    response = render(request, "webhooks/webhook.html", context, status=422 if form and form.errors else 200)
    is_awaited = any(
        each.state == Delivery.State.WAITING and now - _SENT_SOON < each.due_at <= now for each in deliveries
    )
    if is_awaited and not form and not more:
        response["Refresh"] = "2"
    return response


@never_cache
@login_required
@require_POST
def rotate_secret(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Replace the secret and show the new one, once."""
    found = _webhook(request, pk)
    if too_often(request, "webhook", rate=RATE, key="user"):
        return too_many(request)
    return _page(request, found, made=services.rotate_secret(found))


@login_required
@require_POST
def set_active(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Switch a webhook on or off."""
    found = _webhook(request, pk)
    services.change(found, active=request.POST.get("active") == "yes")
    return redirect(found)


@login_required
@require_POST
def delete(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Delete a webhook with its deliveries."""
    _webhook(request, pk).delete()
    messages.success(request, _("The webhook is deleted. Nothing more is sent to its address."))
    return redirect("webhooks:webhooks")


@login_required
@require_POST
def send_test(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Send a test event."""
    found = _webhook(request, pk)
    if too_often(request, "webhook-send", rate=RATE, key="user"):
        return too_many(request)
    try:
        services.send_test(found)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(found)


@login_required
@require_POST
def resend(request: AuthenticatedHttpRequest, pk: int, delivery: int) -> HttpResponse:
    """Send a delivery again."""
    found = _webhook(request, pk)
    row = get_object_or_404(services.deliveries_of(found), pk=delivery)
    if too_often(request, "webhook-send", rate=RATE, key="user"):
        return too_many(request)
    try:
        services.resend(row)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect(found)
