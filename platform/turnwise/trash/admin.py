from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.trash.models import Deletion


@admin.register(Deletion)
class DeletionAdmin(ViewOnly, admin.ModelAdmin[Deletion]):
    """Put back on the page of who deleted it."""

    list_display = ("what", "study", "by", "at")
    exclude = ("content",)
