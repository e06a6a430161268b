"""Forms of languages: adding one, its settings, the filter of its table, an upload."""

import re
from typing import Any, ClassVar

from django import forms
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from turnwise.accounts.models import User
from turnwise.languages.models import LONGEST_CODE, Language
from turnwise.languages.plurals import CHOICES, known_plural_forms
from turnwise.languages.texts import AREAS

_CODE = re.compile(r"([A-Za-z]{2,3})(?:-([A-Za-z]{4}))?(?:-([A-Za-z]{2}|\d{3}))?")


class LanguageForm(forms.ModelForm[Language]):
    """Names and direction of a language."""

    class Meta:
        model = Language
        fields: ClassVar[tuple[str, ...]] = ("name", "local_name", "right_to_left")
        labels: ClassVar[dict[str, Any]] = {
            "name": gettext_lazy("Name in English"),
            "local_name": gettext_lazy("Name in the language itself"),
        }
        help_texts: ClassVar[dict[str, Any]] = {
            "name": "",
            "local_name": gettext_lazy("As workers choose it. For example: Kiswahili"),
        }


class NewLanguageForm(LanguageForm):
    """Form of a new language; names of well-known languages are filled in."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=LONGEST_CODE,
        help_text=gettext_lazy("BCP 47, as a study's languages. For example: sw, fa, es-MX, zh-Hant"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    plural_forms = forms.ChoiceField(
        label=gettext_lazy("Plural forms"),
        required=False,
        choices=[("", gettext_lazy("As known for this language")), *CHOICES.items()],
        help_text=gettext_lazy("Needed only if Turnwise does not know the language."),
    )

    def __init__(self, data: Any = None) -> None:
        """Let the names of a language that Django knows be left out."""
        super().__init__(data)
        self.order_fields(["code", "name", "local_name", "right_to_left", "plural_forms"])
        for name in ("name", "local_name"):
            self.fields[name].required = False
            self.fields[name].help_text = _("Empty: the usual name, if Turnwise knows it.")

    def clean_code(self) -> str:
        found = _CODE.fullmatch(self.cleaned_data["code"].strip())
        if found is None:
            raise ValidationError(
                _("“%(code)s” is not a language code such as sw, es-MX or zh-Hant.")
                % {"code": self.cleaned_data["code"]}
            )
        language, script, region = found.groups(default="")
        return "-".join(part for part in (language.lower(), script.title(), region.upper()) if part)

    def clean(self) -> dict[str, Any]:
        """Fill in names and plural rule of languages that are known."""
        cleaned = super().clean() or self.cleaned_data
        if "code" not in cleaned:
            return cleaned
        known = LANG_INFO.get(cleaned["code"].lower(), {})
        for name, key in (("name", "name"), ("local_name", "name_local")):
            cleaned[name] = cleaned.get(name) or known.get(key, "")
            if not cleaned[name] and name not in self.errors:
                self.add_error(name, _("Turnwise does not know this language. Write its name."))
        cleaned["right_to_left"] = cleaned.get("right_to_left") or bool(known.get("bidi"))
        cleaned["plural_forms"] = known_plural_forms(cleaned["code"]) or cleaned.get("plural_forms", "")
        if not cleaned["plural_forms"] and "plural_forms" not in self.errors:
            self.add_error(
                "plural_forms", _("Turnwise does not know this language. Choose its plural forms.")
            )
        return cleaned


class SettingsForm(LanguageForm):
    """Names, direction, use and translators of a language."""

    editors = forms.CharField(
        label=gettext_lazy("Translators"),
        required=False,
        max_length=1000,
        help_text=gettext_lazy("User names of people who may translate it too, separated by commas."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )

    class Meta(LanguageForm.Meta):
        fields = ("name", "local_name", "right_to_left", "active")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Show the present translators."""
        super().__init__(*args, **kwargs)
        self.initial["editors"] = ", ".join(
            self.instance.editors.order_by("username").values_list("username", flat=True)
        )

    def clean_editors(self) -> list[User]:
        names = {name.strip() for name in self.cleaned_data["editors"].split(",") if name.strip()}
        found = list(User.objects.filter(username__in=names, is_active=True))
        if unknown := names - {user.username for user in found}:
            raise ValidationError(_("Nobody is called “%(name)s” here.") % {"name": min(unknown)})
        return found


class FilterForm(forms.Form):
    """Filter of the table of texts."""

    ONLY: ClassVar[list[tuple[str, Any]]] = [
        ("", gettext_lazy("All texts")),
        ("missing", gettext_lazy("Only missing texts")),
        ("written", gettext_lazy("Only translations written here")),
    ]

    find = forms.CharField(label=gettext_lazy("Find"), required=False, max_length=120)
    only = forms.ChoiceField(label=gettext_lazy("Show"), required=False, choices=ONLY)
    area = forms.ChoiceField(
        label=gettext_lazy("Used in"),
        required=False,
        choices=[("", gettext_lazy("All pages")), *((key, title) for key, (title, _parts) in AREAS.items())],
    )
