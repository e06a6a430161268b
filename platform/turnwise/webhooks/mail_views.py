"""Pages about mails of events: what a person chooses, and the link in each mail that ends them."""

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import guessed_too_often, too_many
from turnwise.accounts.mail import mailbox_of
from turnwise.webhooks import mails
from turnwise.webhooks.models import EVENT_TITLES
from turnwise.webhooks.views import site_of


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
