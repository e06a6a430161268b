"""Forms of studies whose task stores a plan beside the study."""

from typing import Any, ClassVar, Generic, TypeVar

from django import forms
from django.db import models
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.studies.forms import StudyPage
from turnwise.studies.models import Study

P = TypeVar("P", bound=models.Model)


class PlanForm(forms.ModelForm[P]):
    """Form of a task's plan. It is read-only once the study is no longer a draft."""

    attribute: ClassVar[str]
    """The study's attribute with its plan; also the prefix of the form fields."""

    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        instance = getattr(study, self.attribute, None)
        super().__init__(data, instance=instance, prefix=self.attribute)
        self.offer(user)
        for field in self.fields.values():
            field.disabled = study.state != Study.State.DRAFT

    def offer(self, user: User) -> None:
        """Limit the choices to those that this user may use."""


class PlanPage(StudyPage, Generic[P]):
    """Forms of the study and of its task's plan, which `plan` returns."""

    plan_form_class: type[PlanForm[P]]

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.plan_form = self.plan_form_class(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.plan_form.is_valid()])

    @override
    def template_context(self) -> dict[str, Any]:
        return super().template_context() | {"plan_form": self.plan_form}
