from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.responses.models import Response, ResponseFault, ResponseRun, Sweep, WritingPlace


@admin.register(Sweep)
class SweepAdmin(ViewOnly, admin.ModelAdmin[Sweep]):
    list_display = ("bot", "context_version", "owner", "created_at")


@admin.register(ResponseRun)
class ResponseRunAdmin(ViewOnly, admin.ModelAdmin[ResponseRun]):
    list_display = ("system", "context_version", "source", "state", "owner", "created_at")
    list_filter = ("source", "state")
    raw_id_fields = ("bot_version", "study", "sweep")


@admin.register(Response)
class ResponseAdmin(ViewOnly, admin.ModelAdmin[Response]):
    list_display = ("run", "context", "repetition", "created_at")
    raw_id_fields = ("run", "context", "bot_version", "author")


@admin.register(ResponseFault)
class ResponseFaultAdmin(ViewOnly, admin.ModelAdmin[ResponseFault]):
    list_display = ("run", "context", "kind", "attempts", "at")
    raw_id_fields = ("run", "context")


@admin.register(WritingPlace)
class WritingPlaceAdmin(ViewOnly, admin.ModelAdmin[WritingPlace]):
    list_display = ("participation", "context", "held_since")
    raw_id_fields = ("participation", "run", "context")
