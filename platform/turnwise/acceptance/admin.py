from django.contrib import admin

from turnwise.acceptance.models import Decision, Limits
from turnwise.accounts.admin import ViewOnly


@admin.register(Decision)
class DecisionAdmin(ViewOnly, admin.ModelAdmin[Decision]):
    """Decided on the study's page, which notes by whom."""

    list_display = ("dialogue", "state", "by", "at")
    list_filter = ("state",)


@admin.register(Limits)
class LimitsAdmin(ViewOnly, admin.ModelAdmin[Limits]):
    list_display = ("study",)
