"""Messages that a researcher keeps for workers: on rejection, with a bonus, as thanks."""

import re

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.accounts.requests import AuthenticatedHttpRequest
from turnwise.crowd.models import Participation
from turnwise.quality.models import MessageTemplate
from turnwise.trash.services import Kept
from turnwise.trash.views import tell

PLACEHOLDERS = ("worker", "study", "reasons", "amount")
MOST_OF_A_PERSON = 100


class MessageForm(forms.ModelForm[MessageTemplate]):
    """One message."""

    class Meta:
        model = MessageTemplate
        fields = ("kind", "title", "text")
        widgets = {"text": forms.Textarea(attrs={"rows": 5})}

    def clean_text(self) -> str:
        text = str(self.cleaned_data["text"])
        for name in re.findall(r"\{(.*?)\}", text):
            if name not in PLACEHOLDERS:
                raise ValidationError(
                    _("{%(name)s} is none of {worker}, {study}, {reasons} and {amount}.")
                    % {"name": name[:40]}
                )
        return text


def filled(template: MessageTemplate, own: Participation, *, reasons: str) -> str:
    """The message for one worker; what is not known of them is left out."""
    values = {
        "worker": own.pseudonym,
        "study": own.study.title,
        "reasons": reasons,
        "amount": own.study.pay,
    }
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], ""), template.text)


def messages_of(user: User) -> list[MessageTemplate]:
    return list(MessageTemplate.objects.filter(owner=user))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def stored(request: HttpRequest) -> HttpResponse:
    """One's own messages, and a form for one more."""
    assert request.user.is_authenticated
    own = messages_of(request.user)
    form = MessageForm(
        request.POST if request.method == "POST" else None, instance=MessageTemplate(owner=request.user)
    )
    if form.is_bound and form.is_valid():
        if len(own) >= MOST_OF_A_PERSON:
            form.add_error(None, _("You have %(n)d messages; remove one first.") % {"n": MOST_OF_A_PERSON})
        elif any(each.title == form.cleaned_data["title"] for each in own):
            form.add_error("title", _("You have a message of this name. Choose another."))
        else:
            # Sent twice at the same moment, it is kept once.
            MessageTemplate.objects.bulk_create([form.save(commit=False)], ignore_conflicts=True)
            messages.success(request, _("The message is saved."))
            return redirect("quality:messages")
    shown = {"own": own, "form": form}
    return render(request, "quality/messages.html", shown, status=422 if form.is_bound else 200)


@require_http_methods(["POST"])
@login_required
def remove(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    theirs = visible_to(request.user, MessageTemplate.objects.all(), owner="owner")
    own = get_object_or_404(theirs, pk=pk)
    kept = Kept()
    with transaction.atomic():
        kept.delete(theirs.filter(pk=own.pk))
        deletion = kept.store(own.title, by=request.user)
    tell(request, _("The message is removed."), deletion)
    return redirect("quality:messages")
