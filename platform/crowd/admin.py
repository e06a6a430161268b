from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from crowd import services
from crowd.models import Assignment, Participation, Worker


@admin.register(Worker)
class WorkerAdmin(admin.ModelAdmin[Worker]):
    list_display = ("pseudonym", "panel", "created_at")
    search_fields = ("pseudonym", "panel_id")


@admin.register(Participation)
class ParticipationAdmin(admin.ModelAdmin[Participation]):
    list_display = ("worker", "study", "consented_at", "set_aside_reason")
    list_filter = ("study",)
    search_fields = ("worker__pseudonym",)
    readonly_fields = ("set_aside_at", "set_aside_by")

    def save_model(self, request: HttpRequest, obj: Participation, form: Any, change: bool) -> None:
        reason = obj.set_aside_reason
        obj.set_aside_reason = form.initial.get("set_aside_reason", "")
        super().save_model(request, obj, form, change)
        if "set_aside_reason" in form.changed_data:
            assert request.user.is_authenticated
            services.set_aside(obj.pk, reason=reason, by=request.user)


@admin.register(Assignment)
class AssignmentAdmin(admin.ModelAdmin[Assignment]):
    list_display = ("participation", "study_bot", "outcome", "assigned_at", "ended_at")
    list_filter = ("outcome",)
