from django.contrib import admin

from accounts.view_only import ViewOnly
from dialogues.models import Dialogue, Fault, Participant, Turn


class ParticipantInline(ViewOnly, admin.TabularInline[Participant, Dialogue]):
    model = Participant
    extra = 0
    raw_id_fields = ("worker",)


@admin.register(Dialogue)
class DialogueAdmin(ViewOnly, admin.ModelAdmin[Dialogue]):
    list_display = ("public_id", "study", "started_at", "ending", "turns")
    list_filter = ("study", "ending")
    raw_id_fields = ("assignment",)
    inlines = (ParticipantInline,)


@admin.register(Turn)
class TurnAdmin(ViewOnly, admin.ModelAdmin[Turn]):
    list_display = ("dialogue", "position", "text", "latency_ms")
    raw_id_fields = ("dialogue", "bot_version")


@admin.register(Fault)
class FaultAdmin(ViewOnly, admin.ModelAdmin[Fault]):
    list_display = ("dialogue", "position", "kind", "at")
    raw_id_fields = ("dialogue",)


@admin.register(Participant)
class ParticipantAdmin(ViewOnly, admin.ModelAdmin[Participant]):
    list_display = ("dialogue", "seat", "worker", "bot")
    list_select_related = ("dialogue", "worker", "bot")
    raw_id_fields = ("dialogue", "worker")
