"""The form with which an owner publishes a report."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from turnwise.publications.row_files import RowsChoice
from turnwise.publications.services import Listing, check_address
from turnwise.publications.snapshots import LICENCES, Details

MOST_AUTHORS = 100


class PublishForm(forms.Form):
    """What the publisher says about a version; a study that has an address is not asked for one."""

    title = forms.CharField(label=_("Title"), max_length=200)
    authors = forms.CharField(
        label=_("Authors"),
        max_length=2000,
        required=False,
        help_text=_(
            "Separate several with a semicolon, in the order of the citation: Ada Lovelace; Alan Turing."
        ),
    )
    licence = forms.ChoiceField(
        label=_("Licence"), choices=[(each.spdx, each.title) for each in LICENCES.values()]
    )
    address = forms.CharField(
        label=_("Address"),
        max_length=60,
        required=False,
        help_text=_(
            "The last part of the address, such as support-bots-2026. Leave it empty for one that nobody "
            "guesses: then only people with the link find the page."
        ),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    is_indexed = forms.BooleanField(label=_("Search engines may list the page"), required=False)
    in_leaderboard = forms.BooleanField(
        label=_("Show the results in the public leaderboard of their protocol"), required=False
    )
    rows = forms.ChoiceField(
        label=_("Rows behind the figures"),
        choices=[
            (RowsChoice.NONE.value, _("none: figures alone")),
            (RowsChoice.ANSWERS.value, _("chosen answers, without any text")),
            (RowsChoice.BOT_TEXTS.value, _("chosen answers, and what bots said")),
            (RowsChoice.ALL_TEXTS.value, _("chosen answers, and what bots and people said")),
        ],
        help_text=_(
            "People get numbers that mean nothing elsewhere; what they wrote in answers is never published. "
            "If anybody withdraws, the rows are deleted here. Copies that others have downloaded are not."
        ),
    )
    consents = forms.BooleanField(
        label=_("The participants agreed that what they wrote is published, and I read it for personal data"),
        required=False,
    )

    def __init__(self, *args: Any, has_address: bool, has_protocol: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if has_address:
            del self.fields["address"]
        if not has_protocol:
            del self.fields["in_leaderboard"]

    def clean_authors(self) -> str:
        names = [each.strip() for each in self.cleaned_data["authors"].split(";")]
        if len(names) > MOST_AUTHORS:
            raise ValidationError(
                gettext(
                    "There are %(n)s authors, and a citation takes %(most)s. Name a group in their place."
                )
                % {"n": len(names), "most": MOST_AUTHORS}
            )
        return "; ".join(name for name in names if name)

    def clean_address(self) -> str:
        address: str = self.cleaned_data["address"].strip()
        check_address(address)
        return address

    def clean(self) -> dict[str, Any]:
        texts = self.cleaned_data.get("rows") == RowsChoice.ALL_TEXTS
        if texts and not self.cleaned_data.get("consents"):
            self.add_error(
                "consents",
                gettext(
                    "You chose to publish what people wrote. Tick this if it holds, or publish what bots "
                    "said alone."
                ),
            )
        return self.cleaned_data

    @property
    def details(self) -> Details:
        authors = self.cleaned_data["authors"]
        return Details(
            title=self.cleaned_data["title"],
            authors=authors.split("; ") if authors else [],
            licence=self.cleaned_data["licence"],
        )

    @property
    def listing(self) -> Listing:
        return Listing(self.cleaned_data["is_indexed"], self.cleaned_data.get("in_leaderboard", False))

    @property
    def choice(self) -> RowsChoice:
        return RowsChoice(self.cleaned_data["rows"])
