"""Forms of judging studies, and the first steps of a study that begins with an imported file."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.questions import Subject
from turnwise.accounts.models import User
from turnwise.dialogues.models import TranscriptImport
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queue.services import plan_of
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.form_fields import AskForm, AskForms
from turnwise.studies.forms import ASKING, FIELDS, StudyForm, StudyPage
from turnwise.studies.models import Study
from turnwise.studies.tasks import SetupStep


class JudgingForm(StudyForm):
    """The fields of a judging study, without its items and its asks."""

    class Meta(StudyForm.Meta):
        fields = (*FIELDS, "material", *ASKING)


class ReadersAskForm(AskForm):
    """One ask of readers: its question set and its subject."""

    # The first choice leaves the subject to the question set.
    _ABOUT = (
        ("", _("What the questions are about")),
        (About.RESPONSE.value, _("Single replies: responses, or turns of conversations")),
        (About.DIALOGUE.value, _("Whole conversations")),
        (About.CONTEXT.value, _("How conversations begin, without a reply")),
    )

    @override
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["required"]
        is_fixed = self.fields["when"].disabled
        self.fields["when"] = forms.ChoiceField(
            label=_("About"), required=False, choices=self._ABOUT, disabled=is_fixed
        )

    @override
    @classmethod
    def initial_of(cls, ask: AskSpec) -> dict[str, Any]:
        is_usual = ask == default_ask(ask.question_set)
        return {"question_set": ask.question_set, "when": "" if is_usual else ask.about.value}

    @override
    def clean(self) -> None:
        """Accept empty fields: the question set decides them."""

    @property
    @override
    def ask_spec(self) -> AskSpec | None:
        key, about = self.cleaned_data.get("question_set"), self.cleaned_data.get("when")
        if not key:
            return None
        return AskSpec(key, About(about)) if about else default_ask(key)


class ReadersAskForms(AskForms):
    """The asks of readers, in order."""

    about = frozenset({About.RESPONSE, About.DIALOGUE, About.CONTEXT})
    row = ReadersAskForm


class JudgingPage(StudyPage):
    """The page of a judging study. Its items are chosen in its queue."""

    template = "tasks/judging/form.html"
    study_form = JudgingForm
    ask_rows: ClassVar[type[AskForms]] = ReadersAskForms

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.ask_forms = self.ask_rows(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.ask_forms.is_valid()])

    @override
    def asks(self) -> Sequence[AskSpec]:
        return self.ask_forms.ask_specs

    @override
    def template_context(self) -> dict[str, Any]:
        return super().template_context() | {"ask_forms": self.ask_forms}


def default_ask(key: str) -> AskSpec:
    """The ask of a judging study with this question set, if no subject was chosen."""
    subjects = question_set(key).subjects
    if subjects == {Subject.CONTEXT}:
        return AskSpec(key, About.CONTEXT)
    return AskSpec(key, About.DIALOGUE if subjects == {Subject.DIALOGUE} else About.RESPONSE)


WAY = "transcripts"


def begin_with_import(study: Study) -> str:
    """Mark the study as one that begins with an import, and return the address of the import page."""
    JudgingPlan.objects.filter(pk=plan_of(study).pk).update(of_transcripts=True)
    return reverse("transcripts:imports", args=[study.pk])


def first_steps(study: Study) -> Sequence[SetupStep]:
    """The steps "import the file" and "choose what is judged"; none for other studies."""
    plan: JudgingPlan | None = getattr(study, "judging", None)
    if plan is None or not plan.of_transcripts:
        return ()
    items = study.items.count()
    return (_importing(study, has_items=items > 0), _choosing(study, items))


def _importing(study: Study, *, has_items: bool) -> SetupStep:
    records = study.imports.defer("content").order_by("-uploaded_at")
    imports_at = reverse("transcripts:imports", args=[study.pk])
    imported = sum(record.conversations for record in records if record.imported_at)
    if imported:
        says = ngettext("%(n)s conversation is imported.", "%(n)s conversations are imported.", imported)
        return SetupStep(gettext("Import"), says % {"n": f"{imported:,}"}, imports_at, is_done=True)
    if has_items:
        return SetupStep(
            gettext("Import"), gettext("The items come from other studies."), imports_at, is_done=True
        )
    newest: TranscriptImport | None = records.first()
    if newest is None:
        return SetupStep(
            gettext("Import"), gettext("Upload the file with the conversations."), imports_at, is_done=False
        )
    says = (
        gettext("The file is being imported.")
        if newest.is_in_progress
        else gettext("Look at the preview, then import.")
    )
    return SetupStep(gettext("Import"), says, reverse("transcripts:import", args=[newest.pk]), is_done=False)


def _choosing(study: Study, items: int) -> SetupStep:
    says = (
        ngettext("%(n)s item is in the queue.", "%(n)s items are in the queue.", items) % {"n": f"{items:,}"}
        if items
        else gettext("Choose what is judged of the conversations, and by how many people.")
    )
    return SetupStep(gettext("Choose"), says, reverse("judging:queue", args=[study.pk]), is_done=items > 0)
