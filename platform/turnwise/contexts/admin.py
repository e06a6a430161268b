from django.contrib import admin

from turnwise.accounts.admin import NeverDeleted, ViewOnly
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion


@admin.register(ContextSet)
class ContextSetAdmin(NeverDeleted, admin.ModelAdmin[ContextSet]):
    list_display = ("title", "name", "owner", "licence")


@admin.register(ContextSetVersion)
class ContextSetVersionAdmin(ViewOnly, admin.ModelAdmin[ContextSetVersion]):
    list_display = ("context_set", "number", "size", "created_at")


@admin.register(Context)
class ContextAdmin(ViewOnly, admin.ModelAdmin[Context]):
    list_display = ("key", "version", "category", "language")
    search_fields = ("key",)
