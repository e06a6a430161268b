"""Pages of webhooks and of mails of events, with their forms."""

from datetime import timedelta
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.accounts.mail import mailbox_of
from turnwise.accounts.models import User
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.webhooks import mails, services
from turnwise.webhooks.models import EVENT_TITLES, LONGEST_ADDRESS, Delivery, Webhook


class WebhookForm(forms.Form):
    """Address and events of a webhook."""

    address: ClassVar[forms.CharField] = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=LONGEST_ADDRESS,
        help_text=gettext_lazy("Turnwise sends a POST there. For example: https://lab.example.org/turnwise"),
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
    )
    events: ClassVar[forms.MultipleChoiceField] = forms.MultipleChoiceField(
        label=gettext_lazy("Events"),
        choices=[(kind.value, title) for kind, title in EVENT_TITLES.items()],
        error_messages={"required": gettext_lazy("Choose at least one event.")},
        widget=forms.CheckboxSelectMultiple,
    )


class NewWebhookForm(WebhookForm):
    """Form of a new webhook, which may be for one study."""

    study: ClassVar[forms.ModelChoiceField[Study]] = forms.ModelChoiceField(
        label=gettext_lazy("Study"),
        queryset=Study.objects.none(),
        required=False,
        empty_label=gettext_lazy("All my studies, and their bots"),
    )

    def __init__(self, data: Any, *, user: User) -> None:
        """Offer the studies on which this person works."""
        super().__init__(data)
        self.fields["study"].queryset = real_studies_of(user).filter(archived_at=None)  # type: ignore[attr-defined]
        self.order_fields(["address", "study", "events"])


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


class MailChoiceForm(forms.Form):
    """Kinds of events that are mailed; none: no mails."""

    events = forms.MultipleChoiceField(
        label=gettext_lazy("Send me a mail when"),
        choices=[(kind.value, title) for kind, title in EVENT_TITLES.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def mail_choice(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Let a person choose which events are mailed to them."""
    user = request.user
    form = MailChoiceForm(request.POST or None, initial={"events": mails.chosen_events(user)})
    if request.method == "POST":
        form = MailChoiceForm(request.POST)
        if form.is_valid():
            mails.choose_events(user, form.cleaned_data["events"], site=site_of(request))
            messages.success(request, _("Saved."))
            return redirect("webhooks:mail_choice")
    context = {"form": form, "mailbox": mailbox_of(user), "has_mail": bool(settings.MAIL_FROM)}
    return render(request, "webhooks/mail_choice.html", context, status=422 if form.errors else 200)


@csrf_exempt  # mail programs send this POST by themselves (RFC 8058), and the link is the secret
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def end_mails(request: HttpRequest, token: str) -> HttpResponse:
    """End all mails of events to the person whose mail had this link."""
    if guessed_too_often(request, "end-mails", rate="60/m"):
        return too_many(request)
    user = mails.user_of_link(token)
    if user is None:
        return render(request, "webhooks/end_mails.html", {"is_invalid": True}, status=404)
    if request.method == "POST":
        mails.end_mails(user)
    context = {"has_ended": request.method == "POST"}
    return render(request, "webhooks/end_mails.html", context)
