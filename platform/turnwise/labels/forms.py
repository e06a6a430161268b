from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue
from turnwise.labels.explorer import Asked, Wanted, scores_of
from turnwise.studies.models import Study

LONGEST_TEXT = 200


class WantedForm(forms.Form):
    """What a list of conversations is narrowed to, as its address says it."""

    text = forms.CharField(
        label=_("Text contains"),
        max_length=LONGEST_TEXT,
        required=False,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    bot = forms.ModelChoiceField(
        label=_("Bot"),
        queryset=Bot.objects.none(),
        to_field_name="name",
        required=False,
        empty_label=_("All"),
    )
    worker = forms.CharField(
        label=_("Worker or panel id"),
        max_length=120,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    state = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            ("", _("All")),
            ("complete", _("Complete")),
            ("open", _("Under way")),
            (Dialogue.Ending.BOT_FAILED.value, _("Ended because the bot could not answer")),
            ("excluded", _("Worker excluded")),
        ],
    )
    score = forms.ChoiceField(label=_("Has this score"), required=False)
    lowest = forms.FloatField(label=_("Score from"), required=False)
    highest = forms.FloatField(label=_("Score to"), required=False)
    replies = forms.IntegerField(label=_("Replies, at least"), min_value=1, max_value=10_000, required=False)
    faults = forms.BooleanField(label=_("A reply failed"), required=False)
    disputed = forms.BooleanField(label=_("Most readers differ from the person who talked"), required=False)

    def __init__(self, study: Study, data: Any, *, panel_ids: bool) -> None:
        super().__init__(data)
        self.asked = Asked(study, data.get("score", ""))
        score, scores = self.asked.score, scores_of(study)
        self._panel_ids = panel_ids
        if not panel_ids:
            self.fields["worker"].label = _("Worker")
        bots = self.fields["bot"]
        assert isinstance(bots, forms.ModelChoiceField)
        bots.queryset = Bot.objects.filter(study_bots__study=study).order_by("title", "name")
        if scores:
            chosen = self.fields["score"]
            assert isinstance(chosen, forms.ChoiceField)
            titled = [(key, each.title) for key, (_number, each) in scores.items()]
            chosen.choices = [("", _("Any or none")), *titled]
        else:
            del self.fields["score"]
        if score is None:
            for name in ("lowest", "highest", "disputed"):
                del self.fields[name]
        else:
            unit = " (%)" if score.is_percent else ""
            self.fields["lowest"].label = _("%(score)s%(unit)s from") % {"score": score.title, "unit": unit}
            self.fields["highest"].label = _("to")
        for name in ("lowest", "highest"):
            if name in self.fields:
                self.fields[name].widget.attrs["step"] = "any"

    def clean(self) -> None:
        super().clean()
        lowest, highest = self.cleaned_data.get("lowest"), self.cleaned_data.get("highest")
        if lowest is not None and highest is not None and lowest > highest:
            raise ValidationError(
                _("No score is both at least %(lowest)g and at most %(highest)g. Swap the two.")
                % {"lowest": lowest, "highest": highest}
            )

    @property
    def wanted(self) -> Wanted:
        """Of a valid form."""
        return Wanted(**self.cleaned_data, panel_ids=self._panel_ids)
