from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.tasks.self_play.models import SelfPlayed, SelfPlayPlan


@admin.register(SelfPlayPlan)
class SelfPlayPlanAdmin(ViewOnly, admin.ModelAdmin[SelfPlayPlan]):
    list_display = ("study", "first", "second", "conversations", "utterances")


@admin.register(SelfPlayed)
class SelfPlayedAdmin(ViewOnly, admin.ModelAdmin[SelfPlayed]):
    list_display = ("plan", "number", "attempts", "fell_silent", "repeated")
    raw_id_fields = ("plan", "dialogue")
