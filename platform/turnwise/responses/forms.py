import secrets
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.bots.choosing import BotField
from turnwise.bots.models import OPERATED
from turnwise.bots.queries import visible_bots
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.queries import versions_of
from turnwise.contexts.tables import FileRefusedError, decoded
from turnwise.responses.files import ENDINGS
from turnwise.responses.services import MOST_REPETITIONS


def _versions(user: User) -> "forms.ModelChoiceField[ContextSetVersion]":
    return forms.ModelChoiceField(queryset=versions_of(user), label=_("Contexts"), empty_label=None)


class RunForm(forms.Form):
    """A bot that is to respond to all contexts of a set."""

    repetitions = forms.IntegerField(
        label=_("Repetitions"),
        min_value=1,
        max_value=MOST_REPETITIONS,
        initial=1,
        help_text=_(
            "Several, each with samples of its own, give the standard deviation of a score. The Meena paper "
            "had 7."
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**53,
        required=False,
        help_text=_("The same seed gives the same responses, where the bot can. Empty: one is drawn."),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usable = visible_bots(user).filter(active=True).exclude(adapter=OPERATED)
        chosen = [self.data.get("bot"), self.initial.get("bot")]
        bot: forms.Field = BotField(usable, user, chosen=chosen, label=_("Bot"))
        self.fields = {"context_version": _versions(user), "bot": bot} | self.fields

    def clean_seed(self) -> int:
        seed: int | None = self.cleaned_data["seed"]
        return secrets.randbits(31) if seed is None else seed


class ResponseFileForm(forms.Form):
    """Responses of a system that cannot run here."""

    system = forms.CharField(
        label=_("System"), max_length=120, help_text=_("What reports call it, such as Cleverbot 2019.")
    )
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "CSV or JSON Lines, in UTF-8, with the fields context (its id), response and, for several "
            "responses to each context, repetition from 1."
        ),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = {"context_version": _versions(user)} | self.fields

    def clean_file(self) -> dict[str, str]:
        """The file's text, with its name and format."""
        upload: UploadedFile[bytes] = self.cleaned_data["file"]
        name = upload.name or ""
        ending = ENDINGS.get(name.lower().rpartition(".")[2])
        if ending is None:
            raise ValidationError(
                gettext("“%(value)s” does not end in any of .%(value_2)s. Save it as one of these.")
                % {"value": name[-60:], "value_2": ", .".join(ENDINGS)}
            )
        too_large = gettext(
            "Leave out all columns but context, repetition and response, or some of the repetitions."
        )
        try:
            return {"text": decoded(upload.read(), too_large=too_large), "origin": name, "ending": ending}
        except FileRefusedError as error:
            raise ValidationError(str(error)) from None
