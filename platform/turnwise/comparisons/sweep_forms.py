import re
import secrets
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.queries import versions_of
from turnwise.responses.sweeps import HIGHEST_T, LARGEST_N, MOST_N, MOST_T, Grid, check

_BETWEEN = re.compile(r"[\s,;]+")
_DECIMAL_COMMA = re.compile(r"(?<![0-9.])0,[0-9]+")  # no temperature is 0
LONGEST = 100


class SweepForm(forms.Form):
    """Which contexts are answered, and with which N and T."""

    context_version = forms.ModelChoiceField(
        queryset=ContextSetVersion.objects.none(), label=_("Contexts"), empty_label=None
    )
    samples = forms.CharField(
        max_length=LONGEST,
        initial="1 4 20 100",
        label=_("Samples N"),
        help_text=_("Up to %(most)s numbers from 1 to %(largest)s, with spaces between.")
        % {"most": MOST_N, "largest": LARGEST_N},
    )
    temperatures = forms.CharField(
        max_length=LONGEST,
        initial="0.88 1",
        label=_("Temperatures T"),
        help_text=_("Up to %(most)s numbers above 0, up to %(highest)s, such as 0.88.")
        % {"most": MOST_T, "highest": f"{HIGHEST_T:g}"},
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**53,
        required=False,
        label=_("Seed"),
        help_text=_("The same seed gives the same responses. Empty: a random one."),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["context_version"].queryset = versions_of(user)  # type: ignore[attr-defined]  # a choice

    def clean_samples(self) -> tuple[int, ...]:
        return tuple(dict.fromkeys(_whole(part) for part in _parts(self.cleaned_data["samples"])))

    def clean_temperatures(self) -> tuple[float, ...]:
        given = self.cleaned_data["temperatures"]
        if found := _DECIMAL_COMMA.search(given):
            part = found.group()
            raise ValidationError(
                gettext("“%(part)s” would be two numbers. Write a point: %(cure)s.")
                % {"part": part, "cure": part.replace(",", ".")}
            )
        return tuple(dict.fromkeys(_number(part) for part in _parts(given)))

    def clean_seed(self) -> int:
        seed: int | None = self.cleaned_data["seed"]
        return secrets.randbits(31) if seed is None else seed

    def clean(self) -> dict[str, Any]:
        """The same, with the `grid`, if it can be."""
        given = self.cleaned_data
        if {"samples", "temperatures", "context_version"} <= given.keys():
            given["grid"] = Grid(given["samples"], given["temperatures"])
            check(given["grid"], given["context_version"].size)
        return given


def _parts(text: str) -> list[str]:
    return [part for part in _BETWEEN.split(text) if part]


def _whole(part: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", part):
        raise ValidationError(
            gettext("“%(part)s” is not a whole number. Write numbers such as 1 20 100.") % {"part": part}
        )
    return int(part)


def _number(part: str) -> float:
    """A temperature, to four decimals."""
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,9})?|\.[0-9]{1,9}", part):
        raise ValidationError(
            gettext("“%(part)s” is not a number. Write numbers such as 0.88 1.") % {"part": part}
        )
    return round(float(part), 4)
