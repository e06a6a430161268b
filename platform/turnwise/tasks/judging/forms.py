"""A judging study whose way begins with a file: import it, choose what of it is judged, then ask and open."""

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
from turnwise.studies.asks import About, Asked
from turnwise.studies.form_fields import AskForm, AskForms
from turnwise.studies.forms import ASKING, FIELDS, StudyForm, StudyPage
from turnwise.studies.models import Study
from turnwise.studies.tasks import FirstStep


class JudgingForm(StudyForm):
    """Everything about a study whose workers judge, but what they judge and what they are asked."""

    class Meta(StudyForm.Meta):
        fields = (*FIELDS, "material", *ASKING)


class ReadersAskForm(AskForm):
    """One ask of readers: which questions, and about what."""

    # What stands in the list; the first: as the questions themselves say.
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
    def initial_of(cls, ask: Asked) -> dict[str, Any]:
        is_usual = ask == asked_of_readers(ask.question_set)
        return {"question_set": ask.question_set, "when": "" if is_usual else ask.about.value}

    @override
    def clean(self) -> None:
        """Nothing more: what is not said follows from the questions."""

    @property
    @override
    def asked(self) -> Asked | None:
        key, about = self.cleaned_data.get("question_set"), self.cleaned_data.get("when")
        if not key:
            return None
        return Asked(key, About(about)) if about else asked_of_readers(key)


class ReadersAskForms(AskForms):
    """What readers are asked, in order."""

    about = frozenset({About.RESPONSE, About.DIALOGUE, About.CONTEXT})
    row = ReadersAskForm


class JudgingPage(StudyPage):
    """The study; what is judged in it is chosen in its queue."""

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
    def asks(self) -> Sequence[Asked]:
        return self.ask_forms.asked

    @override
    def shown(self) -> dict[str, Any]:
        return super().shown() | {"ask_forms": self.ask_forms}


def asked_of_readers(key: str) -> Asked:
    """What a judging study asks with these questions, if nobody says about what."""
    subjects = question_set(key).subjects
    if subjects == {Subject.CONTEXT}:
        return Asked(key, About.CONTEXT)
    return Asked(key, About.DIALOGUE if subjects == {Subject.DIALOGUE} else About.RESPONSE)


WAY = "transcripts"


def set_out(study: Study) -> str:
    """Note that this is its way; the address where its file is imported."""
    JudgingPlan.objects.filter(pk=plan_of(study).pk).update(of_transcripts=True)
    return reverse("transcripts:imports", args=[study.pk])


def first_steps(study: Study) -> Sequence[FirstStep]:
    """To import the file, and to choose what is judged; nothing of a study that began otherwise."""
    plan: JudgingPlan | None = getattr(study, "judging", None)
    if plan is None or not plan.of_transcripts:
        return ()
    items = study.items.count()
    return (_importing(study, has_items=items > 0), _choosing(study, items))


def _importing(study: Study, *, has_items: bool) -> FirstStep:
    records = study.imports.defer("content").order_by("-uploaded_at")
    there = reverse("transcripts:imports", args=[study.pk])
    brought = sum(record.conversations for record in records if record.imported_at)
    if brought:
        says = ngettext("%(n)s conversation is imported.", "%(n)s conversations are imported.", brought)
        return FirstStep(gettext("Import"), says % {"n": f"{brought:,}"}, there, is_done=True)
    if has_items:
        return FirstStep(
            gettext("Import"), gettext("The items come from other studies."), there, is_done=True
        )
    newest: TranscriptImport | None = records.first()
    if newest is None:
        return FirstStep(
            gettext("Import"), gettext("Upload the file with the conversations."), there, is_done=False
        )
    says = (
        gettext("The file is being imported.")
        if newest.is_under_way
        else gettext("Look at the preview, then import.")
    )
    return FirstStep(gettext("Import"), says, reverse("transcripts:import", args=[newest.pk]), is_done=False)


def _choosing(study: Study, items: int) -> FirstStep:
    says = (
        ngettext("%(n)s item is in the queue.", "%(n)s items are in the queue.", items) % {"n": f"{items:,}"}
        if items
        else gettext("Choose what is judged of the conversations, and by how many people.")
    )
    return FirstStep(gettext("Choose"), says, reverse("judging:queue", args=[study.pk]), is_done=items > 0)
