"""The Django admin over what only services write."""

from typing import Any

from django.http import HttpRequest


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
