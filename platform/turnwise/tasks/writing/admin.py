from django.contrib import admin
from django.http import HttpRequest
from typing_extensions import override

from turnwise.accounts.admin import NeverDeleted
from turnwise.studies.models import Study
from turnwise.tasks.writing.models import WritingPlan


@admin.register(WritingPlan)
class WritingPlanAdmin(NeverDeleted, admin.ModelAdmin[WritingPlan]):
    """Plans can be changed only while the study is a draft; later, participants rely on them."""

    @override
    def has_change_permission(self, request: HttpRequest, obj: WritingPlan | None = None) -> bool:
        return super().has_change_permission(request, obj) and _is_draft(obj)


def _is_draft(plan: WritingPlan | None) -> bool:
    return plan is None or plan.study.state == Study.State.DRAFT
