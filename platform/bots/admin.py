from django.contrib import admin

from bots.models import Bot, BotVersion


@admin.register(Bot)
class BotAdmin(admin.ModelAdmin[Bot]):
    list_display = ("name", "title", "adapter", "active")


@admin.register(BotVersion)
class BotVersionAdmin(admin.ModelAdmin[BotVersion]):
    list_display = ("bot", "fingerprint", "first_seen_at", "perplexity")
    # Perplexities are entered on the bot's page, which notes by whom.
    readonly_fields = ("bot", "fingerprint", "details", "first_seen_at", "perplexity", "perplexity_data",
                       "perplexity_tokenizer", "perplexity_entered_by")  # fmt: skip
