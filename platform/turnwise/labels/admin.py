from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.labels.models import Label, Pair


@admin.register(Label)
class LabelAdmin(ViewOnly, admin.ModelAdmin[Label]):
    """What raters answered stays as they answered it; to leave somebody out is an exclusion with a reason."""

    list_display = ("__str__", "rater", "question_set", "answers", "changed_at")
    list_filter = ("question_set",)


@admin.register(Pair)
class PairAdmin(ViewOnly, admin.ModelAdmin[Pair]):
    """What is judged side by side; it is made in the queue of its study."""

    list_display = ("__str__",)
