from django.contrib import admin

from reports.models import Report


@admin.register(Report)
class ReportAdmin(admin.ModelAdmin[Report]):
    list_display = ("study", "state", "requested_at", "finished_at")
    list_filter = ("state", "study")
