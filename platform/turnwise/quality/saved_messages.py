"""Saved messages to workers: their form, and what is written to one worker."""

import re

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.quality.models import MessageTemplate
from turnwise.trash.models import Deletion
from turnwise.trash.soft_delete import SoftDeleter

PLACEHOLDERS = ("worker", "study", "reasons", "amount")
MOST_OF_A_PERSON = 100


class MessageForm(forms.ModelForm[MessageTemplate]):
    """Form of a saved message."""

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


def fill_template(template: MessageTemplate, own: Participation, *, reasons: str) -> str:
    """Fill in a message for one worker; unknown values are left empty."""
    values = {
        "worker": own.pseudonym,
        "study": own.study.title,
        "reasons": reasons,
        "amount": own.study.pay,
    }
    return re.sub(r"\{(\w+)\}", lambda found: values.get(found[1], ""), template.text)


def messages_of(user: User) -> list[MessageTemplate]:
    return list(MessageTemplate.objects.filter(owner=user))


def save_message(message: MessageTemplate) -> MessageTemplate:
    """Store a new message. One that is sent twice at the same time is stored once.

    Raises:
        ValidationError: its owner has too many messages, or one of this title; nothing was saved.
    """
    own = messages_of(message.owner)
    if len(own) >= MOST_OF_A_PERSON:
        raise ValidationError(_("You have %(n)d messages; remove one first.") % {"n": MOST_OF_A_PERSON})
    if any(each.title == message.title for each in own):
        raise ValidationError({"title": _("You have a message of this name. Choose another.")})
    MessageTemplate.objects.bulk_create([message], ignore_conflicts=True)
    return MessageTemplate.objects.get(owner=message.owner, title=message.title)


@transaction.atomic
def remove_message(message: MessageTemplate, *, by: User) -> Deletion:
    """Remove a message, which can be put back for a day."""
    deleter = SoftDeleter()
    deleter.delete(MessageTemplate.objects.filter(pk=message.pk))
    return deleter.store(message.title, by=by)
