from django.contrib import admin

from crowd.models import Assignment, Participation, Worker


@admin.register(Worker)
class WorkerAdmin(admin.ModelAdmin[Worker]):
    list_display = ("pseudonym", "panel", "created_at")
    search_fields = ("pseudonym", "panel_id")


@admin.register(Participation)
class ParticipationAdmin(admin.ModelAdmin[Participation]):
    list_display = ("worker", "study", "consented_at")
    list_filter = ("study",)


@admin.register(Assignment)
class AssignmentAdmin(admin.ModelAdmin[Assignment]):
    list_display = ("participation", "study_bot", "outcome", "assigned_at", "ended_at")
    list_filter = ("outcome",)
