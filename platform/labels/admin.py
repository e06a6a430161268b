from django.contrib import admin

from labels.models import Batch, Item, JudgingPlan, Label, Slot


@admin.register(Label)
class LabelAdmin(admin.ModelAdmin[Label]):
    list_display = ("__str__", "rater", "question_set", "answers", "changed_at")
    list_filter = ("question_set",)
    raw_id_fields = ("turn", "response", "dialogue", "rater")


@admin.register(JudgingPlan)
class JudgingPlanAdmin(admin.ModelAdmin[JudgingPlan]):
    list_display = ("study", "raters_per_item", "batch_size", "lease_seconds")


@admin.register(Item)
class ItemAdmin(admin.ModelAdmin[Item]):
    list_display = ("key", "study", "language")
    raw_id_fields = ("turn", "response", "dialogue")


@admin.register(Batch)
class BatchAdmin(admin.ModelAdmin[Batch]):
    list_display = ("public_id", "study", "worker", "done", "size")
    raw_id_fields = ("assignment", "worker")


@admin.register(Slot)
class SlotAdmin(admin.ModelAdmin[Slot]):
    list_display = ("item", "number", "batch", "leased_until", "label")
    raw_id_fields = ("item", "batch", "label")
