from typing import Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from typing_extensions import override

from studies.models import ConsentVersion, Study, StudyBot, WritingPlan
from studies.services import PROTOCOL_FIELDS


class StudyBotInline(admin.TabularInline[StudyBot, Study]):
    model = StudyBot
    extra = 0

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        return () if obj is None or obj.state == Study.State.DRAFT else ("bot",)

    @override
    def has_add_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return obj is None or obj.state == Study.State.DRAFT


@admin.register(Study)
class StudyAdmin(admin.ModelAdmin[Study]):
    list_display = ("title", "owner", "state", "created_at")
    list_filter = ("state",)
    inlines = (StudyBotInline,)
    readonly_fields = ("state",)  # opened and closed on the study's own page, which knows the rules

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        is_draft = obj is None or obj.state == Study.State.DRAFT
        return (*self.readonly_fields, *(() if is_draft else PROTOCOL_FIELDS))

    @override
    def save_model(self, request: HttpRequest, obj: Study, form: ModelForm[Study], change: bool) -> None:
        # Only what was edited: other columns may have moved on while the form was open.
        obj.save(update_fields=form.changed_data if change else None)


@admin.register(StudyBot)
class StudyBotAdmin(admin.ModelAdmin[StudyBot]):
    list_display = ("study", "bot", "target")

    @override
    def get_readonly_fields(self, request: HttpRequest, obj: StudyBot | None = None) -> Any:
        return ("study", "bot") if obj else ()  # workers were assigned to this one


admin.site.register(WritingPlan)


@admin.register(ConsentVersion)
class ConsentVersionAdmin(admin.ModelAdmin[ConsentVersion]):
    """What people agreed to stays as they read it; a new version is made on the study's own page."""

    list_display = ("study", "number", "created_at")

    @override
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    @override
    def has_change_permission(self, request: HttpRequest, obj: ConsentVersion | None = None) -> bool:
        return False
