from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.labels.models import Label, Pair


@admin.register(Label)
class LabelAdmin(ViewOnly, admin.ModelAdmin[Label]):
    """Labels stay as raters gave them. To leave a rater out, exclude them with a reason."""

    list_display = ("__str__", "rater", "question_set", "answers", "changed_at")
    list_filter = ("question_set",)


@admin.register(Pair)
class PairAdmin(ViewOnly, admin.ModelAdmin[Pair]):
    """Pairs that are judged side by side; they are created in the queue of their study."""

    list_display = ("__str__",)
