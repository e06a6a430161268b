from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest
from typing_extensions import override

from accounts.view_only import ViewOnly
from evaluation.questions import AnswersError, question_set
from labels import services, subjects
from labels.models import Batch, Item, JudgingPlan, Label, Slot


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
    list_display = ("__str__", "rater", "question_set", "answers", "changed_at")
    list_filter = ("question_set",)
    readonly_fields = ("turn", "response", "dialogue", "rater", "question_set", "created_at", "changed_at",
                       "changes")  # fmt: skip

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


@admin.register(JudgingPlan)
class JudgingPlanAdmin(admin.ModelAdmin[JudgingPlan]):
    list_display = ("study", "raters_per_item", "batch_size", "lease_seconds")

    @override
    def save_model(self, request: HttpRequest, obj: JudgingPlan, form: Any, change: bool) -> None:
        subjects.save_plan(obj)


@admin.register(Item)
class ItemAdmin(ViewOnly, admin.ModelAdmin[Item]):
    list_display = ("key", "study", "language")
    raw_id_fields = ("turn", "response", "dialogue")


@admin.register(Batch)
class BatchAdmin(ViewOnly, admin.ModelAdmin[Batch]):
    list_display = ("public_id", "study", "worker", "done", "size")
    raw_id_fields = ("assignment", "worker")


@admin.register(Slot)
class SlotAdmin(ViewOnly, admin.ModelAdmin[Slot]):
    list_display = ("item", "number", "batch", "leased_until", "label")
    raw_id_fields = ("item", "batch", "label")
