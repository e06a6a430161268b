from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from turnwise.accounts.admin import NeverDeleted, NeverWritten, ViewOnly
from turnwise.crowd.models import (
    Assignment,
    Invitation,
    Notice,
    PanelAct,
    Participation,
    Pause,
    PayEntry,
    Practice,
    Redaction,
    StudyPanel,
    TextReview,
    VisitCount,
    Waiting,
    Withdrawal,
    Worker,
)
from turnwise.crowd.places import ending


@admin.register(Worker)
class WorkerAdmin(NeverWritten, admin.ModelAdmin[Worker]):
    """Workers are read-only here, but can be deleted with all their data."""

    list_display = ("pseudonym", "panel", "created_at")
    search_fields = ("pseudonym", "panel_id")

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        """List everything deleted with a worker, without asking for permission on each table."""
        listed, counted, _, protected = super().get_deleted_objects(objs, request)
        return listed, counted, set(), protected

    def delete_model(self, request: HttpRequest, obj: Worker) -> None:
        ending.delete_workers([obj.pk])

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Worker]) -> None:
        ending.delete_workers(queryset.values_list("pk", flat=True))


@admin.register(Participation)
class ParticipationAdmin(NeverDeleted, admin.ModelAdmin[Participation]):
    list_display = ("pseudonym", "study", "consented_at", "excluded_reason")
    list_filter = ("study",)
    search_fields = ("pseudonym", "worker__pseudonym")

    def get_readonly_fields(self, request: HttpRequest, obj: Participation | None = None) -> Any:
        """All fields except the reason for an exclusion."""
        return [field.name for field in Participation._meta.fields if field.name != "excluded_reason"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # only the worker can consent

    def save_model(self, request: HttpRequest, obj: Participation, form: Any, change: bool) -> None:
        reason = obj.excluded_reason
        obj.excluded_reason = form.initial.get("excluded_reason", "")
        super().save_model(request, obj, form, change)
        if "excluded_reason" in form.changed_data:
            assert request.user.is_authenticated
            ending.exclude(obj.pk, reason=reason, by=request.user)


@admin.register(Assignment)
class AssignmentAdmin(ViewOnly, admin.ModelAdmin[Assignment]):
    list_display = ("participation", "study_bot", "outcome", "assigned_at", "ended_at")
    list_filter = ("outcome",)


@admin.register(PayEntry)
class PayEntryAdmin(ViewOnly, admin.ModelAdmin[PayEntry]):
    list_display = ("study", "worker", "reason", "amount", "currency", "by", "at")
    list_filter = ("reason",)
    search_fields = ("worker",)


@admin.register(StudyPanel)
class StudyPanelAdmin(ViewOnly, admin.ModelAdmin[StudyPanel]):
    list_display = ("study", "panel")
    list_filter = ("panel",)
    exclude = ("secret",)  # shared with the panel only


@admin.register(Invitation)
class InvitationAdmin(ViewOnly, admin.ModelAdmin[Invitation]):
    list_display = ("study", "name", "created_at")


@admin.register(Practice)
class PracticeAdmin(ViewOnly, admin.ModelAdmin[Practice]):
    list_display = ("worker", "question_set", "passed_at")


@admin.register(Waiting)
class WaitingAdmin(ViewOnly, admin.ModelAdmin[Waiting]):
    list_display = ("assignment", "study", "seen_at", "waited")
    list_filter = ("study",)


@admin.register(Withdrawal)
class WithdrawalAdmin(ViewOnly, admin.ModelAdmin[Withdrawal]):
    list_display = ("participation", "at", "by", "texts", "labels")


@admin.register(Pause)
class PauseAdmin(ViewOnly, admin.ModelAdmin[Pause]):
    list_display = ("study", "began_at", "began_by", "holds", "turned_away", "ended_at")
    list_filter = ("study",)


@admin.register(VisitCount)
class VisitCountAdmin(ViewOnly, admin.ModelAdmin[VisitCount]):
    list_display = ("study", "saw", "visits")
    list_filter = ("study",)


@admin.register(Notice)
class NoticeAdmin(ViewOnly, admin.ModelAdmin[Notice]):
    list_display = ("study", "text", "at", "by", "ended_at")
    list_filter = ("study",)


@admin.register(PanelAct)
class PanelActAdmin(ViewOnly, admin.ModelAdmin[PanelAct]):
    list_display = ("study", "participation", "kind", "amount", "state", "tries", "done_at")
    list_filter = ("state", "kind")


@admin.register(Redaction)
class RedactionAdmin(ViewOnly, admin.ModelAdmin[Redaction]):
    list_display = ("study", "text", "kind", "at", "by", "undone_at", "undone_by")


@admin.register(TextReview)
class TextReviewAdmin(ViewOnly, admin.ModelAdmin[TextReview]):
    list_display = ("study", "at", "by")
