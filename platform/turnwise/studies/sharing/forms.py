"""Forms of the pages *Sharing* and *Transfer*."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.groups.queries import groups_of
from turnwise.studies.models import Role

_ROLES = [(role.value, role.label) for role in (Role.READER, Role.REVIEWER, Role.EDITOR)]
_NAME = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "none"}


class RoleForm(forms.Form):
    """A role with what it may have in addition."""

    role = forms.ChoiceField(label=_("Role"), choices=_ROLES)
    may_bundle = forms.BooleanField(
        label=_("A reader or reviewer may download the bundle"),
        required=False,
        help_text=_(
            "Bundles hold personal data: all conversations and answers, and what people said of themselves."
        ),
    )
    may_pay = forms.BooleanField(
        label=_("An editor may handle payments"),
        required=False,
        help_text=_("See and note payments, give bonuses, approve and reject at panels."),
    )

    @property
    def given(self) -> dict[str, Any]:
        """Role and additions of a valid form, as arguments of the services."""
        return {name: self.cleaned_data[name] for name in ("role", "may_bundle", "may_pay")}


class ShareForm(RoleForm):
    """Sharing with a person or with one of the user's groups."""

    name = forms.CharField(
        label=_("Their user name"),
        max_length=150,
        required=False,
        error_messages={"required": _("Write the name of a person who signs in here.")},
        widget=forms.TextInput(attrs=_NAME),
    )
    group = forms.ChoiceField(label=_("Or one of your groups"), required=False)

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data)
        groups = [(str(group.pk), group.name) for group in groups_of(user)]
        self.fields["group"].choices = [("", _("none")), *groups]  # type: ignore[attr-defined]  # a choice
        if not groups:
            del self.fields["group"]
            self.fields["name"].required = True
        self.order_fields(["name", "group", "role", "may_bundle", "may_pay"])

    def clean(self) -> dict[str, Any]:
        found = super().clean() or self.cleaned_data
        if found.get("name") and found.get("group"):
            raise forms.ValidationError(_("Write a name or choose a group, not both."))
        return found


class TransferForm(forms.Form):
    """The new owner, and whether the old one stays."""

    name = forms.CharField(
        label=_("User name of the new owner"),
        max_length=150,
        widget=forms.TextInput(attrs=_NAME),
    )
    keeps_editing = forms.BooleanField(
        label=_("The old owner stays as an editor with payments"), required=False, initial=True
    )
