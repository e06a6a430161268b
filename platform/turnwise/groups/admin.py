from django.contrib import admin

from turnwise.accounts.admin import NeverWritten, ViewOnly
from turnwise.groups.models import Group, GroupInvitation, Membership


@admin.register(Group)
class GroupAdmin(ViewOnly, admin.ModelAdmin[Group]):
    """Read-only: groups change on their own pages, which are audited."""

    list_display = ("name", "created_at")


@admin.register(Membership)
class MembershipAdmin(NeverWritten, admin.ModelAdmin[Membership]):
    """Rows that go with an account that is deleted."""

    list_display = ("group", "person", "is_admin", "joined_at")


@admin.register(GroupInvitation)
class GroupInvitationAdmin(ViewOnly, admin.ModelAdmin[GroupInvitation]):
    list_display = ("group", "whom", "is_admin", "invited_by", "expires_at", "ended_at")
