from django.contrib import admin

from labels.models import Label


@admin.register(Label)
class LabelAdmin(admin.ModelAdmin[Label]):
    list_display = ("__str__", "rater", "question_set", "answers", "changed_at")
    list_filter = ("question_set",)
    raw_id_fields = ("turn", "response", "dialogue", "rater")
