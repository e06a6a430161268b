"""Direction of the active language's script."""

from django import template

from turnwise.live.rendering.replaced_texts import is_right_to_left

register = template.Library()


@register.simple_tag
def right_to_left() -> bool:
    """True if the page is written from right to left."""
    return is_right_to_left()
