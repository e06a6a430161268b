from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from turnwise.accounts.admin import ViewOnly
from turnwise.dialogues.models import (
    ArticleUse,
    Battle,
    Dialogue,
    Fault,
    Material,
    MessagePicture,
    OperatorReply,
    Picture,
    ReadingSet,
    ReplyVersion,
    Seat,
    TranscriptImport,
    Turn,
    Typing,
)


class SeatInline(ViewOnly, admin.TabularInline[Seat, Dialogue]):
    model = Seat
    extra = 0
    raw_id_fields = ("worker", "assignment")


@admin.register(Dialogue)
class DialogueAdmin(ViewOnly, admin.ModelAdmin[Dialogue]):
    list_display = ("public_id", "study", "origin", "started_at", "ending", "turns")
    list_filter = ("study", "origin", "ending")
    raw_id_fields = ("imported_in",)
    inlines = (SeatInline,)


@admin.register(Battle)
class BattleAdmin(ViewOnly, admin.ModelAdmin[Battle]):
    list_display = ("assignment", "number", "left", "right")
    list_select_related = ("left", "right")
    raw_id_fields = ("assignment", "left", "right")


@admin.register(Turn)
class TurnAdmin(ViewOnly, admin.ModelAdmin[Turn]):
    list_display = ("dialogue", "position", "text", "latency_ms")
    raw_id_fields = ("dialogue", "bot_version")


@admin.register(ReplyVersion)
class ReplyVersionAdmin(ViewOnly, admin.ModelAdmin[ReplyVersion]):
    list_display = ("turn", "number", "is_kept", "text", "latency_ms")
    raw_id_fields = ("turn", "bot_version")


@admin.register(Picture)
class PictureAdmin(ViewOnly, admin.ModelAdmin[Picture]):
    """Uploads without their content."""

    list_display = ("file_name", "seat", "width", "height", "uploaded_at")
    list_select_related = ("seat__bot", "seat__worker")
    exclude = ("content",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Picture]:
        """Leave out the content, which may be large."""
        return super().get_queryset(request).defer("content")


@admin.register(MessagePicture)
class MessagePictureAdmin(ViewOnly, admin.ModelAdmin[MessagePicture]):
    list_display = ("turn", "picture")
    raw_id_fields = ("turn", "picture")


@admin.register(Fault)
class FaultAdmin(ViewOnly, admin.ModelAdmin[Fault]):
    list_display = ("dialogue", "position", "kind", "at")
    raw_id_fields = ("dialogue",)


@admin.register(OperatorReply)
class OperatorReplyAdmin(ViewOnly, admin.ModelAdmin[OperatorReply]):
    list_display = ("dialogue", "position", "text", "by", "written_at", "due_at")
    raw_id_fields = ("dialogue", "bot_version")


@admin.register(Seat)
class SeatAdmin(ViewOnly, admin.ModelAdmin[Seat]):
    list_display = ("dialogue", "number", "worker", "bot", "name")
    list_select_related = ("dialogue", "worker", "bot")
    raw_id_fields = ("dialogue", "worker", "assignment")


@admin.register(Material)
class MaterialAdmin(ViewOnly, admin.ModelAdmin[Material]):
    list_display = ("seat", "number", "key", "title", "heading")
    list_select_related = ("seat",)
    raw_id_fields = ("seat",)


@admin.register(ReadingSet)
class ReadingSetAdmin(ViewOnly, admin.ModelAdmin[ReadingSet]):
    list_display = ("dialogue", "configuration", "article", "seed", "counts")
    list_select_related = ("dialogue", "article")
    raw_id_fields = ("dialogue", "article")


@admin.register(ArticleUse)
class ArticleUseAdmin(ViewOnly, admin.ModelAdmin[ArticleUse]):
    list_display = ("study", "article", "uses")
    list_select_related = ("study", "article")
    raw_id_fields = ("article",)


@admin.register(TranscriptImport)
class TranscriptImportAdmin(ViewOnly, admin.ModelAdmin[TranscriptImport]):
    list_display = ("file_name", "study", "format", "uploaded_at", "imported_at", "conversations", "turns")
    list_filter = ("study", "format")
    exclude = ("content",)


@admin.register(Typing)
class TypingAdmin(ViewOnly, admin.ModelAdmin[Typing]):
    list_display = ("turn", "pasted", "typing_ms")
    raw_id_fields = ("turn",)
