"""Django admin of the tables of all tasks. A task with an `admin` module registers its own pages."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from typing_extensions import override

from turnwise.accounts.admin import NeverDeleted, ViewOnly
from turnwise.studies.models import Study
from turnwise.tasks import discovery


class PlanAdmin(NeverDeleted, admin.ModelAdmin[Any]):
    """Plans can be changed only while the study is a draft; later, participants rely on them."""

    list_display = ("study",)

    @override
    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_draft = obj is None or obj.study.state == Study.State.DRAFT
        return super().has_change_permission(request, obj) and is_draft


class ResultAdmin(ViewOnly, admin.ModelAdmin[Any]):
    """Rows that only services write."""


def _is_plan(model: type[Model]) -> bool:
    return any(field.name == "study" and field.one_to_one for field in model._meta.get_fields())


list(discovery.parts_named("admin"))
for model in apps.get_app_config("tasks").get_models():
    if not admin.site.is_registered(model):
        admin.site.register(model, PlanAdmin if _is_plan(model) else ResultAdmin)
