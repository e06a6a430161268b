from django.contrib import admin

from reports.models import Chart, Report


@admin.register(Report)
class ReportAdmin(admin.ModelAdmin[Report]):
    list_display = ("study", "state", "requested_at", "finished_at")
    list_filter = ("state", "study")


@admin.register(Chart)
class ChartAdmin(admin.ModelAdmin[Chart]):
    list_display = ("name", "report")
    raw_id_fields = ("report",)
