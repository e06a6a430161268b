"""Keys of all tasks, to which the column `Study.task` is held. The tasks themselves: `studies.tasks`.

A module of its own, because tasks know studies: the model of a study needs no more of a task than its key.
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
