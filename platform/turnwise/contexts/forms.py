from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.files import ending_of
from turnwise.contexts.models import ContextSet
from turnwise.contexts.queries import Filters
from turnwise.contexts.tables import MAX_ROWS, FileRefusedError, decoded
from turnwise.contexts.uploads import text_of_workbook
from turnwise.contexts.versioned_pages import VersionedSetForm


class ContextSetForm(VersionedSetForm[ContextSet]):
    """Name, title, licence and description of a set."""

    name_taken = _(
        "You already have a context set of the name “%(name)s”. Choose another, or import a new version of "
        "that set."
    )

    class Meta(VersionedSetForm.Meta):
        model = ContextSet


class FileForm(forms.Form):
    """A file of contexts, and the language for contexts that name none."""

    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "JSON Lines (.jsonl), CSV (.csv), Excel (.xlsx) or plain text (.txt). A table of prompts needs "
            "one column, prompt."
        ),
    )
    language = forms.CharField(
        label=_("Language"),
        initial="en",
        max_length=10,
        help_text=_("Of contexts for which the file names none: en, zh, pt-BR"),
    )

    def clean_file(self) -> dict[str, str]:
        """The file's text, with its name and format."""
        upload: UploadedFile[bytes] = self.cleaned_data["file"]
        try:
            ending = ending_of(upload.name or "")
            if ending == "xlsx":
                text = text_of_workbook(upload.read())
                return {"text": text, "origin": upload.name or "", "ending": "jsonl"}
            return {
                "text": decoded(upload.read(), too_large=gettext("Split it into several sets.")),
                "origin": upload.name or "",
                "ending": ending,
            }
        except FileRefusedError as error:
            raise ValidationError(str(error)) from None


class SubsetForm(forms.Form):
    """Number of shown contexts that become a set of their own, and its title."""

    number = forms.IntegerField(
        label=_("Number of contexts"),
        required=False,
        min_value=1,
        max_value=MAX_ROWS,
        help_text=_("Drawn at random from those shown. Empty: all of them."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31,
        initial=1,
        help_text=_("A different number draws different contexts; the same number, the same contexts."),
    )
    title = forms.CharField(label=_("Title of the new set"), required=False, max_length=120)


class FilterForm(forms.Form):
    """Filters of the table of contexts, read from the address."""

    turns = forms.ChoiceField(required=False, label=_("Turns"))
    category = forms.ChoiceField(required=False, label=_("Category"))
    language = forms.ChoiceField(required=False, label=_("Language"))
    consistency = forms.ChoiceField(
        required=False,
        label=_("Consistency"),
        choices=[("", _("All")), ("yes", _("Tests consistency")), ("no", _("Does not"))],
    )
    text = forms.CharField(required=False, max_length=200, label=_("Text"), strip=True)

    def __init__(self, choices: dict[str, list[str]], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, values in choices.items():
            field = self.fields[name]
            assert isinstance(field, forms.ChoiceField)
            field.choices = [("", _("All")), *((value, value.replace("_", " ")) for value in values)]

    def filters(self) -> Filters:
        """The valid filters; invalid ones are ignored."""
        self.is_valid()
        values = self.cleaned_data
        return Filters(**{name: values.get(name, "") for name in self.fields})
