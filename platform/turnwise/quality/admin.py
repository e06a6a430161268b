"""Django admin of quality, read-only."""

from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.quality.models import (
    Attempt,
    Block,
    Check,
    Decision,
    Flag,
    Limits,
    MessageTemplate,
    Qualification,
    Requirement,
)


@admin.register(Qualification)
class QualificationAdmin(ViewOnly, admin.ModelAdmin[Qualification]):
    list_display = ("title", "owner", "pass_mark", "tries", "feedback")


@admin.register(Requirement)
class RequirementAdmin(ViewOnly, admin.ModelAdmin[Requirement]):
    list_display = ("study", "qualification")


@admin.register(Attempt)
class AttemptAdmin(ViewOnly, admin.ModelAdmin[Attempt]):
    list_display = ("worker", "qualification", "number", "right", "passed", "at")
    raw_id_fields = ("worker", "participation")


@admin.register(Check)
class CheckAdmin(ViewOnly, admin.ModelAdmin[Check]):
    list_display = ("study", "question_set", "question")


@admin.register(Limits)
class LimitsAdmin(ViewOnly, admin.ModelAdmin[Limits]):
    list_display = ("study",)


@admin.register(Flag)
class FlagAdmin(ViewOnly, admin.ModelAdmin[Flag]):
    list_display = ("participation", "kind", "found_at")
    raw_id_fields = ("participation",)


@admin.register(Decision)
class DecisionAdmin(ViewOnly, admin.ModelAdmin[Decision]):
    list_display = ("worker", "study", "action", "reason", "by", "at")


@admin.register(Block)
class BlockAdmin(ViewOnly, admin.ModelAdmin[Block]):
    list_display = ("worker", "owner", "reason", "at")


@admin.register(MessageTemplate)
class MessageTemplateAdmin(ViewOnly, admin.ModelAdmin[MessageTemplate]):
    list_display = ("title", "kind", "owner")
