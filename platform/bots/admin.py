from django.contrib import admin

from bots.models import Bot, BotCopy, BotVersion


@admin.register(Bot)
class BotAdmin(admin.ModelAdmin[Bot]):
    list_display = ("name", "title", "adapter", "active")


@admin.register(BotVersion)
class BotVersionAdmin(admin.ModelAdmin[BotVersion]):
    list_display = ("bot", "fingerprint", "first_seen_at")
    readonly_fields = ("bot", "fingerprint", "details", "first_seen_at")


@admin.register(BotCopy)
class BotCopyAdmin(admin.ModelAdmin[BotCopy]):
    list_display = ("bot", "host", "state", "seen_at")
    readonly_fields = ("bot", "channel", "host", "state", "health", "seen_at")
