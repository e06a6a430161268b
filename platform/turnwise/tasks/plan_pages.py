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
    """The plan of a study's task. It is fixed once the study is no draft any more."""

    attribute: ClassVar[str]
    """Of the study, under which it has its plan; also the prefix of the fields."""

    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        instance = getattr(study, self.attribute, None)
        super().__init__(data, instance=instance, prefix=self.attribute)
        self.offer(user)
        for field in self.fields.values():
            field.disabled = study.state != Study.State.DRAFT

    def offer(self, user: User) -> None:
        """Narrow the choices to what this person may use."""


class PlanPage(StudyPage, Generic[P]):
    """The study, and the plan of its task, which `plan` gives."""

    plan_form_class: type[PlanForm[P]]

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.plan_form = self.plan_form_class(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.plan_form.is_valid()])

    @override
    def shown(self) -> dict[str, Any]:
        return super().shown() | {"plan_form": self.plan_form}
