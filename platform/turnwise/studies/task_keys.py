"""Keys of all tasks, which validate the column `Study.task`. The tasks themselves are in `studies.tasks`.

The module is separate because tasks import studies: the model of a study needs only the key of its task.
"""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

_ORDER: dict[str, int] = {}
"""The place of each task among all, by its key."""


def add_key(key: str, order: int) -> None:
    """Register a task's key and its place among all tasks."""
    _ORDER[key] = order


def first_key() -> str:
    """Key of the task that a new study has by default."""
    return min(_ORDER, key=_ORDER.__getitem__)


def refuse_unknown(key: str) -> None:
    """Validate a study's task.

    Raises:
        ValidationError: no task has this key; lists all keys.
    """
    if key not in _ORDER:
        raise ValidationError(
            _("“%(key)s” is not a task. There are %(value)s.") % {"key": key, "value": ", ".join(_ORDER)}
        )
