from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from turnwise.accounts.models import User
from turnwise.contexts.tables import FileRefusedError
from turnwise.contexts.versioned_pages import VersionedSetForm
from turnwise.knowledge.files import decoded
from turnwise.knowledge.models import KnowledgeBase
from turnwise.knowledge.reading_sets import Configuration


class BaseForm(VersionedSetForm[KnowledgeBase]):
    """Title, name, licence and description of a base."""

    name_taken = gettext_lazy(
        "You already have a knowledge base of the name “%(name)s”. Choose another, or import a new version "
        "of that base."
    )

    class Meta(VersionedSetForm.Meta):
        model = KnowledgeBase


class FileForm(forms.Form):
    """A file with a knowledge base."""

    file = forms.FileField(
        label=gettext_lazy("File"), help_text=gettext_lazy("JSON (.json) in UTF-8, up to 20\u00a0MB.")
    )

    def clean_file(self) -> dict[str, str]:
        """The file's text, with its name."""
        upload: UploadedFile[bytes] = self.cleaned_data["file"]
        try:
            return {"text": decoded(upload.read()), "origin": upload.name or ""}
        except FileRefusedError as error:
            raise ValidationError(str(error)) from None


class SharingForm(forms.Form):
    """People who can read and use a base, besides its owner and admins."""

    open_to_all = forms.BooleanField(
        required=False, label=gettext_lazy("Everybody who signs in can read it and use it")
    )
    shared_with = forms.CharField(
        required=False,
        label=gettext_lazy("These people can, too"),
        help_text=gettext_lazy("The names by which they sign in, separated by commas."),
    )

    def clean_shared_with(self) -> list[User]:
        names = {name.strip() for name in self.cleaned_data["shared_with"].split(",")} - {""}
        found = list(User.objects.filter(username__in=names))
        if missing := sorted(names - {user.username for user in found}):
            raise ValidationError(
                _("Nobody signs in as “%(name)s”. Check the name.") % {"name": missing[0][:60]}
            )
        return found


class LookForm(forms.Form):
    """Configuration and seed of the reading sets shown for an article; invalid values are ignored."""

    configuration = forms.ChoiceField(required=False, choices=[(c.value, c.value) for c in Configuration])
    seed = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def selection(self) -> tuple[Configuration, int]:
        self.is_valid()
        values: dict[str, Any] = self.cleaned_data
        return Configuration(values.get("configuration") or "A"), values.get("seed") or 0
