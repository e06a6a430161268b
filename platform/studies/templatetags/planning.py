"""What the folded parts of a study's form say of themselves."""

from typing import Any

from django import template
from django.forms import BoundField, ChoiceField

register = template.Library()


@register.filter
def chosen(field: BoundField) -> str:
    """The words of what is chosen in a list; what stands there, if it is none of them."""
    assert isinstance(field.field, ChoiceField)
    value = str(field.value())
    choices: Any = field.field.choices
    return next((str(words) for key, words in choices if str(key) == value), value)
