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
    return _words(field.field.choices).get(value, value)


def _words(choices: Any) -> dict[str, str]:
    """The words by value; groups of choices have a list for words."""
    found: dict[str, str] = {}
    for key, words in choices:
        found |= _words(words) if isinstance(words, list | tuple) else {str(key): str(words)}
    return found
