from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.audits.models import Audit, AuditedReply


@admin.register(Audit)
class AuditAdmin(ViewOnly, admin.ModelAdmin[Audit]):
    list_display = ("bot", "version", "state", "started_by", "created_at")
    list_filter = ("state",)
    list_select_related = ("bot", "version", "started_by")
    raw_id_fields = ("bot", "version", "started_by", "run", "study")


@admin.register(AuditedReply)
class AuditedReplyAdmin(ViewOnly, admin.ModelAdmin[AuditedReply]):
    list_display = ("audit", "question", "turn", "category", "text")
    list_filter = ("category",)
    list_select_related = ("audit__bot",)
    raw_id_fields = ("audit",)
