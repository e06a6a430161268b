"""Form field for a study's between-subject factors, written as text."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.studies.conditions.factors import MOST_CHARACTERS, Factor, parse
from turnwise.studies.scenarios.form_field import findings_error


class FactorsField(forms.Field):
    """Factors as text; the value is a list of factors."""

    widget = forms.Textarea(attrs={"rows": 10, "spellcheck": "true"})

    @override
    def to_python(self, value: Any) -> list[Factor]:
        text = value or ""
        if len(text) > MOST_CHARACTERS:
            raise ValidationError(
                gettext("The text has %(n)s characters, more than %(most)s. Shorten it.")
                % {"n": f"{len(text):,}", "most": f"{MOST_CHARACTERS:,}"}
            )
        parsed = parse(text)
        if not parsed.problems:
            return parsed.factors
        raise findings_error(parsed.problems)


def factors_field() -> FactorsField:
    """Create the field of a study's form."""
    return FactorsField(
        required=False,
        label=_("Factors and their levels"),
        help_text=_(
            "Each level begins with a line such as “# tone: formal”. Below it stands what people in this "
            "level read beside the instructions, or a lone - for nothing more. If a level is to have only "
            "some of the bots or scenarios, write a line “bots: NAME, NAME” or “scenarios: NAME, NAME” right "
            "below its first line. Everybody gets one level of each factor by chance, so that all "
            "combinations come equally often; people never see the names of factors and levels."
        ),
    )
