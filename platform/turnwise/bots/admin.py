from django.contrib import admin
from django.http import HttpRequest

from turnwise.accounts.admin import NeverDeleted, ViewOnly
from turnwise.bots.models import Bot, BotCopy, BotRevision, BotVersion, CanaryRun, OperatorPresence


@admin.register(Bot)
class BotAdmin(NeverDeleted, admin.ModelAdmin[Bot]):
    """Bots are made and changed on their own pages, where the adapter checks them and secrets stay hidden."""

    list_display = ("name", "title", "adapter", "owner", "active")
    fields = ("name", "title", "owner", "open_to_all", "shared_with", "operators", "adapter", "active")
    filter_horizontal = ("shared_with", "operators")
    readonly_fields = ("name", "adapter")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(BotRevision)
class BotRevisionAdmin(ViewOnly, admin.ModelAdmin[BotRevision]):
    list_display = fields = ("bot", "number", "made_by", "made_at")


@admin.register(BotVersion)
class BotVersionAdmin(ViewOnly, admin.ModelAdmin[BotVersion]):
    list_display = ("bot", "fingerprint", "first_seen_at", "perplexity")


@admin.register(BotCopy)
class BotCopyAdmin(ViewOnly, admin.ModelAdmin[BotCopy]):
    list_display = ("bot", "host", "state", "seen_at")


@admin.register(CanaryRun)
class CanaryRunAdmin(ViewOnly, admin.ModelAdmin[CanaryRun]):
    list_display = ("bot", "version", "at", "verdict")
    list_filter = ("verdict",)


@admin.register(OperatorPresence)
class OperatorPresenceAdmin(ViewOnly, admin.ModelAdmin[OperatorPresence]):
    list_display = ("bot", "operator", "takes_new", "seen_at")
