"""The Django admin over what only services write."""

from typing import Any

from django.http import HttpRequest


class ViewOnly:
    """For an admin class or an inline: nothing is added, changed or deleted there, it is only shown.

    What a form wrote past the services would break rules that no constraint can hold, and no report would
    notice. The admin refuses to delete what would take such rows along, too.
    """

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
