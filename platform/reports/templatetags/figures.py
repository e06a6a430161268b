"""Numbers as reports print them: a minus sign, not a hyphen; never a p of 0."""

from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.translation import gettext as _

from evaluation.report import intervals

register = template.Library()
MINUS = "\u2212"


@register.filter
def figure(value: float, digits: int = 1) -> str:
    """A number with so many digits; zero has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


@register.filter
def from_to(cell: Mapping[str, Any], digits: int = 1) -> str:
    """The interval of a figure."""
    ends = {"low": figure(cell["low"], digits), "high": figure(cell["high"], digits)}
    return _("%(low)s to %(high)s") % ends


@register.filter
def percent(share: float) -> str:
    """A level as it stands in sentences: 95 %."""
    return intervals.percent(share)


@register.filter
def signed(value: float, digits: int = 1) -> str:
    """The same with a plus before what is above zero."""
    shown = figure(value, digits)
    return f"+{shown}" if not shown.startswith(MINUS) and float(shown) > 0 else shown


@register.filter
def p_value(p: float | None) -> str:
    """A p-value with three digits, as papers have it; the smallest is a bound."""
    if p is None:
        return "unknown"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@register.filter
def in_words(name: str) -> str:
    """The name of a category as a person writes it: likes_and_dislikes is “likes and dislikes”."""
    return name.replace("_", " ")


@register.filter
def by_basis(bots: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What the intervals of scores rest on: each sentence with the systems of which it holds."""
    found: dict[str, list[str]] = {}
    for bot in bots:
        for says in dict.fromkeys(cell["rests_on"] for cell in bot["cells"] if cell.get("rests_on")):
            found.setdefault(says, []).append(bot["bot"])
    return found


@register.filter
def any_has(rows: list[dict[str, Any]], key: str) -> bool:
    """Whether one of the rows says something of this, so that a table needs a column for it."""
    return any(row.get(key) is not None for row in rows)


@register.filter
def of_two(comparisons: list[dict[str, Any]]) -> bool:
    """Whether all of them are of the same two systems, by one score after the other."""
    return len({(each["first"], each["second"]) for each in comparisons}) == 1
