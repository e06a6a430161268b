from django.contrib import admin
from django.http import HttpRequest

from contexts.models import Context, ContextSet, ContextSetVersion


@admin.register(ContextSet)
class ContextSetAdmin(admin.ModelAdmin[ContextSet]):
    list_display = ("title", "name", "owner", "licence")


class ReadOnlyAdmin:
    """Versions never change; they are made by import."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(ContextSetVersion)
class ContextSetVersionAdmin(ReadOnlyAdmin, admin.ModelAdmin[ContextSetVersion]):
    list_display = ("context_set", "number", "size", "created_at")


@admin.register(Context)
class ContextAdmin(ReadOnlyAdmin, admin.ModelAdmin[Context]):
    list_display = ("key", "version", "category", "language")
    search_fields = ("key",)
