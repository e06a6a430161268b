from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from typing_extensions import override

from turnwise.accounts.admin import NeverDeleted, ViewOnly
from turnwise.judging.items import subjects
from turnwise.judging.models import Batch, DrawnItem, Item, ItemDraw, JudgingPlan, Slot


@admin.register(JudgingPlan)
class JudgingPlanAdmin(NeverDeleted, admin.ModelAdmin[JudgingPlan]):
    list_display = ("study", "raters_per_item", "batch_size", "lease_seconds")
    # History of the study, which nobody edits, and what is declared before it opens.
    readonly_fields = ("draws", "of_transcripts", "adjudication_steps", "judges_each_exchange")

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


@admin.register(ItemDraw)
class ItemDrawAdmin(ViewOnly, admin.ModelAdmin[ItemDraw]):
    list_display = ("study", "number", "judge", "items", "made_by", "made_at")
    list_select_related = ("study", "made_by")


@admin.register(DrawnItem)
class DrawnItemAdmin(ViewOnly, admin.ModelAdmin[DrawnItem]):
    list_display = ("item", "draw", "probability", "is_drawn")
    list_select_related = ("item", "draw")
    raw_id_fields = ("item", "draw")
