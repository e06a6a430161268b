"""Measures of a conversation as the page *Review* shows them."""

from django import template
from django.utils.translation import gettext as _

from evaluation.acceptance import LIMITS
from turnwise.acceptance.queries import Reviewed

register = template.Library()


@register.filter
def shown_measures(row: Reviewed) -> list[tuple[str, str, bool]]:
    """Title, value and whether it is beyond its limit, of each measure that is known."""
    return [
        (_(LIMITS[key].title), _shown(value, LIMITS[key].is_share), is_broken)
        for key, (value, is_broken) in row.measured.items()
        if value is not None
    ]


def _shown(value: float, is_share: bool) -> str:
    if is_share:
        return f"{100 * value:.0f}\u00a0%"
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"
