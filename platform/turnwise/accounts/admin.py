"""Django admin of accounts, and read-only base classes for tables that only services write."""

from importlib import import_module
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from turnwise.accounts.models import ApiToken, Colleague, Erasure, Event, RepeatableRequest, User


class NeverWritten:
    """Admin class or inline without adding or changing.

    A form would bypass the services: it could break rules that no constraint checks, and reports would not be
    updated.
    """

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class NeverDeleted:
    """Admin class or inline without deleting, also not by deleting a parent row."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ViewOnly(NeverWritten, NeverDeleted):
    """Read-only admin class."""


admin.site.register(User, UserAdmin)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin[ApiToken]):
    """Tokens can be revoked here, not created: only their owner may see a token."""

    list_display = ("title", "owner", "scopes", "created_at", "expires_at", "used_at", "revoked_at")
    readonly_fields = ("owner", "scopes", "created_at", "expires_at", "used_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(RepeatableRequest)
class RepeatableRequestAdmin(ViewOnly, admin.ModelAdmin[RepeatableRequest]):
    list_display = ("key", "token", "status", "created_at")


@admin.register(Colleague)
class ColleagueAdmin(ViewOnly, admin.ModelAdmin[Colleague]):
    list_display = ("whom", "is_admin", "invited_by", "created_at", "expires_at", "ended_at", "joined")


@admin.register(Event)
class EventAdmin(ViewOnly, admin.ModelAdmin[Event]):
    list_display = ("at", "name", "token", "action", "path")


@admin.register(Erasure)
class ErasureAdmin(ViewOnly, admin.ModelAdmin[Erasure]):
    list_display = ("at", "reason", "person", "study", "rows")
    list_filter = ("reason",)


# Factors, addresses and sessions change on the pages of their owner alone, which are audited.
for module in ("account", "mfa", "socialaccount", "usersessions"):
    import_module(f"allauth.{module}.admin")  # registered before it is removed
    for model in apps.get_app_config(module).get_models():
        if admin.site.is_registered(model):
            admin.site.unregister(model)
