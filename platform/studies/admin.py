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


admin.site.register((StudyBot, WritingPlan))


@admin.register(ConsentVersion)
class ConsentVersionAdmin(admin.ModelAdmin[ConsentVersion]):
    list_display = ("study", "number", "created_at")
