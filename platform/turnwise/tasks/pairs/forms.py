from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.texts.uninformative_contexts import SHORT, Fit
from turnwise.accounts.models import User
from turnwise.dialogues.queries import with_dialogues
from turnwise.judging.items.pairs import PairSource
from turnwise.responses.models import ResponseRun
from turnwise.responses.queries import real_runs_of
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.form_fields import AskForm, AskForms
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.tasks import keys_with_conversations
from turnwise.tasks.judging.forms import JudgingPage

MOST_EACH = 10_000
MOST_WORDS = 1_000


class PairsAskForm(AskForm):
    """One ask about pairs: its question set."""

    @override
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["when"], self.fields["required"]

    @override
    def clean(self) -> None:
        """Accept every question set: all of them are about pairs."""

    @property
    @override
    def choice_fields(self) -> list[forms.BoundField]:
        return [self["question_set"]]

    @property
    @override
    def ask_spec(self) -> AskSpec | None:
        key = self.cleaned_data.get("question_set")
        return AskSpec(key, About.PAIR) if key else None


class PairsAskForms(AskForms):
    """The asks of a study of pairs, in order."""

    about = frozenset({About.PAIR})
    row = PairsAskForm


class PairsPage(JudgingPage):
    """The page of a study of pairs. Its pairs are made in its queue."""

    template = "tasks/pairs/form.html"
    ask_rows = PairsAskForms


class SourceForm(forms.Form):
    """Material for pairs, and their number."""

    each = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_EACH,
        label=_("Pairs of every two systems"),
        help_text=_("Drawn at random. Empty: all there are."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**31,
        initial=1,
        help_text=_("A different number draws different pairs; the same number, the same pairs."),
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def source(self) -> PairSource | None:
        """The source of a valid form; None, with an error added to the form, if it cannot be used."""
        try:
            return self.build_source(self.cleaned_data)
        except ValidationError as error:
            self.add_error(None, error)
            return None

    def build_source(self, given: dict[str, Any]) -> PairSource:
        raise NotImplementedError


class ResponsePairsForm(SourceForm):
    """Responses of runs, paired by context."""

    runs = forms.ModelMultipleChoiceField(
        queryset=ResponseRun.objects.none(),
        label=_("Responses of"),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("One run of each system, all over the same contexts."),
    )
    least_words = forms.IntegerField(
        required=False,
        min_value=0,
        max_value=MOST_WORDS,
        label=_("Words of a context, at least"),
        help_text=format_lazy(
            _("Of all its turns together; {n} in the paper of neural.chat. Empty: any."), n=SHORT + 1
        ),
    )
    without_unknown = forms.BooleanField(
        required=False,
        label=_("Leave out contexts with unknown words"),
        help_text=_("Those that a vocabulary did not have: <unknown> or <unk>."),
    )
    field_order = ("runs", "least_words", "without_unknown", "each", "seed")

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, user=user, study=study, **kwargs)
        if study.protocol == "neural-chat-pairwise":
            self.fields["least_words"].initial, self.fields["without_unknown"].initial = SHORT + 1, True
        self.fields["runs"].queryset = real_runs_of(user)  # type: ignore[attr-defined]  # the field is a choice of models

    def build_source(self, given: dict[str, Any]) -> PairSource:
        fit = Fit(given["least_words"] or 0, unknown=not given["without_unknown"])
        return PairSource.of_runs(given["runs"], each=given["each"], seed=given["seed"], fit=fit)


class ConversationPairsForm(SourceForm):
    """Finished conversations of studies, paired by system."""

    studies = forms.ModelMultipleChoiceField(
        queryset=Study.objects.none(), label=_("Conversations of"), widget=forms.CheckboxSelectMultiple
    )
    language = forms.ChoiceField(
        label=_("Language"), help_text=_("Of these conversations. Workers who read it get them.")
    )
    field_order = ("studies", "language", "each", "seed")

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, user=user, study=study, **kwargs)
        sources = with_dialogues(real_studies_of(user).filter(task__in=keys_with_conversations()))
        self.fields["studies"].queryset = sources  # type: ignore[attr-defined]  # the field is a choice of models
        self.fields["language"].choices = [(code, code) for code in study.languages]  # type: ignore[attr-defined]

    def build_source(self, given: dict[str, Any]) -> PairSource:
        return PairSource.of_conversations(
            given["studies"], language=given["language"], each=given["each"], seed=given["seed"]
        )
