from typing import Any

from django.contrib import admin
from django.db.models import Field, QuerySet
from django.forms import ChoiceField, ModelForm
from django.http import HttpRequest
from typing_extensions import override

from turnwise.accounts.admin import NeverDeleted, ViewOnly
from turnwise.studies.models import (
    Ask,
    Bundle,
    BundlePart,
    ConsentVersion,
    LastExport,
    Preregistration,
    Share,
    StoppingRule,
    Study,
    StudyBot,
    Transfer,
)
from turnwise.studies.services import FIXED_FIELDS, results_changed
from turnwise.studies.tasks import tasks


class StudyBotInline(admin.TabularInline[StudyBot, Study]):
    model = StudyBot
    extra = 0

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        return () if obj is None or obj.state == Study.State.DRAFT else ("bot",)

    @override
    def has_add_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return obj is None or obj.state == Study.State.DRAFT

    @override
    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return obj is None or obj.state == Study.State.DRAFT


# Promises to workers that stay fixed, besides the protocol.
_PROMISED = ("withdrawal_days", "retention_days")


@admin.register(Study)
class StudyAdmin(NeverDeleted, admin.ModelAdmin[Study]):
    list_display = ("title", "owner", "state", "created_at")
    list_filter = ("state",)
    inlines = (StudyBotInline,)
    # Changed only on the study's pages, which check the rules.
    readonly_fields = ("state", "protocol")

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        is_draft = obj is None or obj.state == Study.State.DRAFT
        of_opened = ("task",) if is_draft else (*FIXED_FIELDS, *_PROMISED)
        fixed = () if obj is None else ("owner", *of_opened)
        return (*self.readonly_fields, *(name for name in fixed if name not in self.readonly_fields))

    @override
    def formfield_for_dbfield(self, db_field: Field[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "task":
            return ChoiceField(choices=[(task.key, task.title) for task in tasks()])
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @override
    def save_model(self, request: HttpRequest, obj: Study, form: ModelForm[Study], change: bool) -> None:
        # Save only the edited fields: others may have changed while the form was open.
        obj.save(update_fields=form.changed_data if change else None)
        if change and form.changed_data:  # the report quotes these texts
            results_changed(obj.pk)


@admin.register(StudyBot)
class StudyBotAdmin(NeverDeleted, admin.ModelAdmin[StudyBot]):
    list_display = ("study", "bot", "target")

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: StudyBot | None = None) -> Any:
        return ("study", "bot") if obj else ()  # workers were assigned to this one


@admin.register(ConsentVersion)
class ConsentVersionAdmin(ViewOnly, admin.ModelAdmin[ConsentVersion]):
    """A consent text never changes; a new version is made on the study's page."""

    list_display = ("study", "number", "created_at")


@admin.register(Ask)
class AskAdmin(ViewOnly, admin.ModelAdmin[Ask]):
    """Read-only: asks are chosen on the study's page, which checks the rules."""

    list_display = ("study", "number", "question_set", "about", "moment", "required")


@admin.register(StoppingRule)
class StoppingRuleAdmin(ViewOnly, admin.ModelAdmin[StoppingRule]):
    """Read-only: a rule is declared on the study's page, which checks it."""

    list_display = ("study", "difference", "planned", "largest", "frozen_at", "stopped_at")


@admin.register(Preregistration)
class PreregistrationAdmin(ViewOnly, admin.ModelAdmin[Preregistration]):
    """Read-only: a plan is fixed when its study opens."""

    list_display = ("study", "frozen_at", "sha256")


@admin.register(Share)
class ShareAdmin(admin.ModelAdmin[Share]):
    list_display = ("study", "person", "group", "role", "may_pay", "may_bundle", "created_at")


@admin.register(Transfer)
class TransferAdmin(ViewOnly, admin.ModelAdmin[Transfer]):
    """Read-only: a study changes its owner on its own page, which moves what hangs on the owner."""

    list_display = ("study", "from_name", "to_name", "offered_at", "ended_at", "outcome")


@admin.register(Bundle)
class BundleAdmin(ViewOnly, admin.ModelAdmin[Bundle]):
    list_display = ("study", "by", "asked_at", "made_at", "size", "reason")


@admin.register(LastExport)
class LastExportAdmin(ViewOnly, admin.ModelAdmin[LastExport]):
    list_display = ("study", "at", "results_version", "judgments")


@admin.register(BundlePart)
class BundlePartAdmin(ViewOnly, admin.ModelAdmin[BundlePart]):
    list_display = ("bundle", "number")

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[BundlePart]:
        return super().get_queryset(request).defer("content")  # a megabyte each
