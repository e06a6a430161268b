"""Template tags about second factors."""

from typing import Any

from django import template

from turnwise.accounts.second_factor import has_factor, is_required

register = template.Library()


@register.simple_tag(takes_context=True)
def needs_factor(context: dict[str, Any]) -> bool:
    """True if the person must set up a second factor before anything else."""
    user = context["request"].user
    return is_required(user) and not has_factor(user)
