from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from typing_extensions import override

from accounts.view_only import NeverWritten
from labels import services
from labels.models import Label, Pair


@admin.register(Label)
class LabelAdmin(NeverWritten, admin.ModelAdmin[Label]):
    """What raters answered stays as they answered it; to leave somebody out is an exclusion with a reason.

    Deleting remains, for raters who ask for it; their studies' reports follow.
    """

    list_display = ("__str__", "rater", "question_set", "answers", "changed_at")
    list_filter = ("question_set",)

    @override
    def delete_model(self, request: HttpRequest, obj: Label) -> None:
        services.delete(Label.objects.filter(pk=obj.pk))

    @override
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Label]) -> None:
        services.delete(queryset)


@admin.register(Pair)
class PairAdmin(NeverWritten, admin.ModelAdmin[Pair]):
    """What is judged side by side; it is made in the queue of its study."""

    list_display = ("__str__",)
