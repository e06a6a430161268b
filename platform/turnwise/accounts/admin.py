"""The Django admin over what only services write."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from turnwise.accounts.models import ApiToken, Colleague, Event, User


class NeverWritten:
    """For an admin class or an inline: nothing is added or changed there.

    What a form wrote past the services would break rules that no constraint can hold, and no report would
    notice.
    """

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class NeverDeleted:
    """For an admin class or an inline: nothing is deleted there, nor what would take such rows along."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ViewOnly(NeverWritten, NeverDeleted):
    """It is shown, and that is all."""


admin.site.register(User, UserAdmin)


@admin.register(ApiToken)
class ApiTokenAdmin(admin.ModelAdmin[ApiToken]):
    """Tokens can be taken back here, not made: only their owner may see one."""

    list_display = ("title", "owner", "created_at", "used_at")
    readonly_fields = ("owner", "created_at", "used_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Colleague)
class ColleagueAdmin(ViewOnly, admin.ModelAdmin[Colleague]):
    list_display = ("whom", "is_admin", "invited_by", "created_at", "expires_at", "ended_at", "joined")


@admin.register(Event)
class EventAdmin(ViewOnly, admin.ModelAdmin[Event]):
    list_display = ("at", "name", "action", "path")
