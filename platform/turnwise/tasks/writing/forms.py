from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.contexts.queries import versions_of
from turnwise.studies.forms import FIELDS, StudyForm, StudyPage
from turnwise.studies.models import PrimaryAnalysis, Study
from turnwise.tasks.writing.models import WritingPlan


class WritingPlanForm(forms.ModelForm[WritingPlan]):
    """Which contexts workers respond to, and how many each."""

    class Meta:
        model = WritingPlan
        fields = ("context_version", "responses_per_context", "batch_size")
        help_texts = {"batch_size": _("Then the worker is done.")}

    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(data, instance=getattr(study, "writing", None), prefix="writing")
        field = self.fields["context_version"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = versions_of(user)
        field.empty_label = None
        for field in self.fields.values():
            field.disabled = study.state != Study.State.DRAFT


class WritingForm(StudyForm):
    """Everything about a study whose workers write, but what they write."""

    class Meta(StudyForm.Meta):
        fields = (*FIELDS, "pilot_size")
        help_texts: ClassVar[Mapping[str, str | Promise]] = {
            "pilot_size": _(
                "After this many people nobody new is admitted until you have looked and go on. What they "
                "wrote is then left out: others write in their place, and nobody is given it to judge. A "
                "study of responses has no scores of its own, so there is nothing else to leave them out of. "
                "0: no pilot."
            )
        }


class WritingPage(StudyPage):
    """The study, and what its workers write."""

    template = "tasks/writing/form.html"
    study_form = WritingForm

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.plan_form = WritingPlanForm(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.plan_form.is_valid()])

    @override
    def study(self) -> Study:
        study = super().study()
        if study.state == Study.State.DRAFT:  # nothing is analysed here; a pilot is never what counts
            study.primary_analysis = (
                PrimaryAnalysis.WITHOUT_EXCLUDED if study.pilot_size else PrimaryAnalysis.ALL
            )
        return study

    @override
    def plan(self) -> WritingPlan:
        return self.plan_form.save(commit=False)

    @override
    def shown(self) -> dict[str, Any]:
        return super().shown() | {"plan_form": self.plan_form}
