from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from evaluation.questions import Answer, Question, Subject
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.queries import categories_in, versions_of
from turnwise.dialogues.models import TranscriptImport
from turnwise.dialogues.queries import with_dialogues
from turnwise.judging.asks import question_sets_of, subjects_of_asks
from turnwise.judging.gold.gold_items import MOST_BYTES, Gold
from turnwise.judging.items.item_selection import (
    MOST_TURNS,
    ContextSample,
    Selection,
    select_contexts,
    select_dialogues,
    select_responses,
    select_turns,
)
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queue.training import why_untrainable
from turnwise.responses.models import ResponseRun
from turnwise.responses.queries import real_runs_of
from turnwise.studies.form_fields import StudySelect, list_all
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.tasks import keys_with_conversations

MOST_CONVERSATIONS = 100_000


class PlanForm(forms.ModelForm[JudgingPlan]):
    """Number of raters for each item, and of items for each worker."""

    class Meta:
        model = JudgingPlan
        fields = (
            "raters_per_item", "third_rater", "batch_size", "lease_seconds", "shows_reading",
            "training_tries",
        )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["shows_reading"].disabled = self.instance.study.state != Study.State.DRAFT
        self.fields["training_tries"].required = False  # empty: no training
        if getattr(self.instance, "battery", None):  # the battery decides these
            del self.fields["raters_per_item"], self.fields["batch_size"], self.fields["third_rater"]
        elif any(
            each.is_sided for asked in question_sets_of(self.instance.study) for each in asked.questions
        ):
            del self.fields["third_rater"]  # sides are shown turned round, so equal answers are not the same

    def clean_training_tries(self) -> int:
        tries: int = self.cleaned_data["training_tries"] or 0
        if problem := why_untrainable(question_sets_of(self.instance.study), tries):
            raise ValidationError(problem)
        return tries


class _SomeContexts(forms.Form):
    """Number and kinds of contexts."""

    contexts = forms.IntegerField(
        label=_("Number of contexts"),
        required=False,
        min_value=1,
        max_value=MOST_CONVERSATIONS,
        help_text=_("How many, drawn at random. Empty: all."),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        required=False,
        min_value=0,
        max_value=2**31,
        initial=1,
        help_text=_("A different number draws different contexts. Those that are judged already come first."),
    )
    category = forms.MultipleChoiceField(
        label=_("Only of these categories"), required=False, widget=forms.CheckboxSelectMultiple
    )
    least_turns = forms.IntegerField(
        label=_("Turns of a context, at least"), required=False, min_value=1, max_value=MOST_TURNS
    )
    most_turns = forms.IntegerField(label=_("At most"), required=False, min_value=1, max_value=MOST_TURNS)

    def offer_categories_of(self, versions: QuerySet[Any]) -> None:
        there = categories_in(versions)
        self.fields["category"].choices = [(each, each.replace("_", " ")) for each in there]  # type: ignore[attr-defined]

    def context_sample(self) -> ContextSample:
        given = self.cleaned_data
        return ContextSample(
            number=given["contexts"],
            seed=1 if given["seed"] is None else given["seed"],
            categories=tuple(given["category"]),
            least_turns=given["least_turns"] or 1,
            most_turns=given["most_turns"] or MOST_TURNS,
        )


class ResponsesForm(_SomeContexts):
    """Responses of runs to judge: all of them, or those to some contexts."""

    run = forms.ModelMultipleChoiceField(
        queryset=ResponseRun.objects.none(),
        label=_("Responses of"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose the runs whose responses are judged.")},
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        runs = real_runs_of(user)
        self.fields["run"].queryset = runs  # type: ignore[attr-defined]  # the field is a choice of models
        self.fields["contexts"].help_text = _(
            "How many, drawn at random, the same for each of these systems. Empty: all."
        )
        self.offer_categories_of(runs.values("context_version"))

    def selection(self, study: Study) -> Selection:
        """Selection made by a valid form.

        Raises:
            ValidationError: as `select_responses`.
        """
        return select_responses(study, self.cleaned_data["run"], self.context_sample())


class ContextsForm(_SomeContexts):
    """Contexts to judge themselves: all of a set, or some."""

    version = forms.ModelChoiceField(queryset=ContextSetVersion.objects.none(), label=_("Contexts of"))

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        kwargs.setdefault("auto_id", "own_%s")  # the same fields of responses may be on the page
        super().__init__(*args, **kwargs)
        versions = versions_of(user)
        self.fields["version"].queryset = versions  # type: ignore[attr-defined]  # a choice of models
        self.offer_categories_of(versions.order_by().values("pk"))

    def selection(self, study: Study) -> Selection:
        """Selection made by a valid form.

        Raises:
            ValidationError: as `select_contexts`.
        """
        return select_contexts(study, self.cleaned_data["version"], self.context_sample())


class ConversationsForm(forms.Form):
    """Conversations of another study to judge, turn by turn or as wholes."""

    source = forms.ModelChoiceField(
        queryset=Study.objects.none(), label=_("Conversations of"), widget=StudySelect
    )
    subject = forms.ChoiceField(label=_("What is judged"))
    language = forms.ChoiceField(
        label=_("Language"), help_text=_("Of these conversations. Workers who read it get them.")
    )
    conversations = forms.IntegerField(
        label=_("Number of conversations"),
        required=False,
        min_value=1,
        max_value=MOST_CONVERSATIONS,
        help_text=_("How many, drawn at random. Empty: all that are finished."),
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sources = self.fields["source"]
        assert isinstance(sources, forms.ModelChoiceField)
        has_conversations = Q(task__in=keys_with_conversations())
        able = real_studies_of(user).filter(has_conversations | Q(pk__in=_with_imports(user)))
        list_all(sources, with_dialogues(able))
        if getattr(study, "judging", None) and study.judging.of_transcripts:
            sources.initial = study.pk
        self.fields["subject"].choices = subjects_of(study)  # type: ignore[attr-defined]  # a choice
        self.fields["language"].choices = [(code, code) for code in study.languages]  # type: ignore[attr-defined]

    def selection(self, study: Study) -> Selection:
        """Selection made by a valid form.

        Raises:
            ValidationError: as `select_turns`.
        """
        given = self.cleaned_data
        select = select_turns if given["subject"] is Subject.TURN else select_dialogues
        return select(
            study, given["source"], language=given["language"], conversations=given["conversations"]
        )

    def clean_subject(self) -> Subject:
        try:
            return Subject(self.cleaned_data["subject"])
        except ValueError as error:
            raise ValidationError(gettext("Choose what is judged: turns, or whole conversations.")) from error


def _with_imports(user: User) -> QuerySet[TranscriptImport, int]:
    """Studies of other tasks into which conversations were imported."""
    imports = TranscriptImport.objects.filter(study__in=real_studies_of(user), imported_at__isnull=False)
    return imports.values_list("study", flat=True)


def subjects_of(study: Study) -> list[tuple[str, str]]:
    """Parts of a conversation that the study's questions can be about, with captions."""
    titles = {
        Subject.TURN: gettext("The chatbot's turns, or both people's"),
        Subject.DIALOGUE: gettext("Whole conversations"),
    }
    fitting = subjects_of_asks(study)
    return [(subject.value, title) for subject, title in titles.items() if subject in fitting]


_INSTRUCTED_TEXT = _(
    "The item itself says what to answer, such as “Please answer Yes here”: an attention check."
)


class NumberForm(forms.ModelForm[JudgingPlan]):
    """Number of gold items for every worker."""

    class Meta:
        model = JudgingPlan
        fields = ("gold_items",)


class FileForm(forms.Form):
    """Gold items from a CSV file."""

    file = forms.FileField(
        label=_("CSV file"),
        help_text=_("With the columns item, question and right, a row for each right answer. A column "
                    "“instructed” with yes makes an attention check."),
    )  # fmt: skip

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise ValidationError(_now("The file is larger than 1\u00a0MB. Split it."))
        try:
            return str(file.read().decode("utf-8-sig").replace("\x00", ""))
        except UnicodeDecodeError:
            raise ValidationError(
                _now("The file is not in UTF-8. Save it in UTF-8, and try again.")
            ) from None


class RightForm(forms.Form):
    """The right answers about one item."""

    is_instructed = forms.BooleanField(required=False, label=_INSTRUCTED_TEXT)

    def __init__(
        self, *args: Any, questions: Sequence[Question], known: Gold | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.questions = questions
        self.initial["is_instructed"] = bool(known and known.is_instructed)
        for question in questions:
            name = f"right-{question.key}"
            self.fields[name] = forms.MultipleChoiceField(
                label=question.wording,
                choices=[(str(n), choice.label) for n, choice in enumerate(question.choices)],
                required=False,
                widget=forms.CheckboxSelectMultiple,
            )
            right = known.right.get(question.key, ()) if known else ()
            self.initial[name] = [str(question.index_of(answer)) for answer in right]

    @property
    def right_fields(self) -> list[forms.BoundField]:
        return [self[f"right-{question.key}"] for question in self.questions]

    def gold(self) -> Gold:
        """The gold of a valid form."""
        right: dict[str, list[Answer]] = {}
        for question in self.questions:
            numbers = self.cleaned_data[f"right-{question.key}"]
            if numbers:
                right[question.key] = [question.choices[int(number)].value for number in numbers]
        return Gold(right, self.cleaned_data["is_instructed"])
