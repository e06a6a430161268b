from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.reports.models import Chart, MeasuredTalk, Report


@admin.register(Report)
class ReportAdmin(ViewOnly, admin.ModelAdmin[Report]):
    list_display = ("study", "state", "requested_at", "finished_at")
    list_filter = ("state", "study")


@admin.register(Chart)
class ChartAdmin(ViewOnly, admin.ModelAdmin[Chart]):
    list_display = ("name", "report")
    raw_id_fields = ("report",)


@admin.register(MeasuredTalk)
class MeasuredTalkAdmin(ViewOnly, admin.ModelAdmin[MeasuredTalk]):
    list_display = ("dialogue", "by")
    raw_id_fields = ("dialogue",)
