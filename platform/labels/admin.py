from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from typing_extensions import override

from evaluation.questions import AnswersError, question_set
from labels import services
from labels.models import Label


class LabelForm(forms.ModelForm[Label]):
    def clean_answers(self) -> Any:
        answers = self.cleaned_data["answers"]
        try:
            return question_set(self.instance.question_set).check(answers)
        except AnswersError as error:
            raise ValidationError(error.message) from error


@admin.register(Label)
class LabelAdmin(admin.ModelAdmin[Label]):
    form = LabelForm
    list_display = ("turn", "rater", "question_set", "answers", "changed_at")
    list_filter = ("question_set",)
    readonly_fields = ("turn", "rater", "question_set", "created_at", "changed_at", "changes")

    @override
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # labels are given by workers

    @override
    def save_model(self, request: HttpRequest, obj: Label, form: Any, change: bool) -> None:
        if form.has_changed():
            services.amend(obj.pk, answers=obj.answers)

    @override
    def delete_model(self, request: HttpRequest, obj: Label) -> None:
        services.delete(Label.objects.filter(pk=obj.pk))

    @override
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Label]) -> None:
        services.delete(queryset)
