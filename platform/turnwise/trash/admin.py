"""Django admin of deletions."""

from django.contrib import admin

from turnwise.accounts.admin import ViewOnly
from turnwise.trash.models import Deletion


@admin.register(Deletion)
class DeletionAdmin(ViewOnly, admin.ModelAdmin[Deletion]):
    """Deletions are read-only here; they are undone on the page *Deleted*."""

    list_display = ("what", "study", "by", "at")
    exclude = ("content",)
