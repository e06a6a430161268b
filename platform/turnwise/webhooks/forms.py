"""Forms of webhooks."""

from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.webhooks.models import EVENT_TITLES, LONGEST_ADDRESS


class WebhookForm(forms.Form):
    """Address and events of a webhook."""

    address: ClassVar[forms.CharField] = forms.CharField(
        label=_("Address"),
        max_length=LONGEST_ADDRESS,
        help_text=_("Turnwise sends a POST there. For example: https://lab.example.org/turnwise"),
        widget=forms.URLInput(attrs={"autocomplete": "off"}),
    )
    events: ClassVar[forms.MultipleChoiceField] = forms.MultipleChoiceField(
        label=_("Events"),
        choices=[(kind.value, title) for kind, title in EVENT_TITLES.items()],
        error_messages={"required": _("Choose at least one event.")},
        widget=forms.CheckboxSelectMultiple,
    )


class NewWebhookForm(WebhookForm):
    """Form of a new webhook, which may be for one study."""

    study: ClassVar[forms.ModelChoiceField[Study]] = forms.ModelChoiceField(
        label=_("Study"),
        queryset=Study.objects.none(),
        required=False,
        empty_label=_("All my studies, and their bots"),
    )

    def __init__(self, data: Any, *, user: User) -> None:
        """Offer the studies on which this person works."""
        super().__init__(data)
        self.fields["study"].queryset = real_studies_of(user).filter(archived_at=None)  # type: ignore[attr-defined]
        self.order_fields(["address", "study", "events"])
