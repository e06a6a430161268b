from django.contrib import admin

from bots.models import Bot, BotVersion


@admin.register(Bot)
class BotAdmin(admin.ModelAdmin[Bot]):
    list_display = ("name", "title", "adapter", "active")


@admin.register(BotVersion)
class BotVersionAdmin(admin.ModelAdmin[BotVersion]):
    list_display = ("bot", "fingerprint", "first_seen_at", "perplexity")
    readonly_fields = ("bot", "fingerprint", "details", "first_seen_at", "perplexity_entered_by")
