from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from turnwise.accounts.models import ApiToken, Colleague, Event, User
from turnwise.accounts.view_only import ViewOnly

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
