from django.contrib import admin

from accounts.view_only import ViewOnly
from dialogues.models import Dialogue, Fault, Participant, TranscriptImport, Turn


class ParticipantInline(ViewOnly, admin.TabularInline[Participant, Dialogue]):
    model = Participant
    extra = 0
    raw_id_fields = ("worker",)


@admin.register(Dialogue)
class DialogueAdmin(ViewOnly, admin.ModelAdmin[Dialogue]):
    list_display = ("public_id", "study", "origin", "started_at", "ending", "turns")
    list_filter = ("study", "origin", "ending")
    raw_id_fields = ("assignment", "imported_in")
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
    list_display = ("dialogue", "seat", "worker", "bot", "name")
    list_select_related = ("dialogue", "worker", "bot")
    raw_id_fields = ("dialogue", "worker")


@admin.register(TranscriptImport)
class TranscriptImportAdmin(ViewOnly, admin.ModelAdmin[TranscriptImport]):
    list_display = ("file_name", "study", "format", "uploaded_at", "imported_at", "conversations", "turns")
    list_filter = ("study", "format")
    exclude = ("content",)
