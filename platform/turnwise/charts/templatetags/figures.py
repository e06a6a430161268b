"""Numbers as reports print them: a minus sign, not a hyphen; never a p of 0."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evaluation.files.writing import figure, p_equals, p_value, percent, signed, with_unit
from evaluation.report.label_columns import other_result

register = template.Library()


for each in (figure, signed, p_value, p_equals, percent):
    register.filter(each.__name__, each)


@register.filter
def from_to(cell: Mapping[str, Any], digits: int = 1) -> str:
    """The interval of a figure."""
    ends = {"low": figure(cell["low"], digits), "high": figure(cell["high"], digits)}
    return gettext("%(low)s to %(high)s") % ends


@register.filter
def seconds(value: float) -> str:
    """How long something took; what is quicker than a tenth of a second in milliseconds."""
    return with_unit(figure(value, 2), "s") if value >= 0.1 else with_unit(figure(1000 * value, 0), "ms")


@register.filter
def milliseconds(value: float) -> str:
    """The same of milliseconds."""
    return seconds(value / 1000)


@register.filter
def beyond(level: float) -> str:
    """What lies outside an interval of this level, which is the level of its tests: 5 % of 95 %."""
    return percent(round(1 - level, 9))


@register.filter
def in_words(name: str) -> str:
    """The name of a category as a person writes it: likes_and_dislikes is “likes and dislikes”."""
    return name.replace("_", " ")


_FAULTS = {
    "BotBusy": _("too busy"),
    "BotResting": _("resting after failures"),
    "BotLate": _("too late"),
    "BotFailed": _("failed"),
    "BotSilent": _("said nothing"),
    "BotNotHosted": _("not hosted"),
    "BotHostGone": _("its process had ended"),
    "LineLost": _("line to its process lost"),
    "OperatorAway": _("no operator there"),
    "OperatorLate": _("operator too late"),
}


@register.filter
def fault(kind: str) -> str:
    """Why a bot gave no reply, in a few words; `kind` is as it is stored and exported."""
    return str(_FAULTS.get(kind, _("failed")))


@register.filter
def by_basis(bots: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What the intervals of scores rest on: each sentence with the systems of which it holds."""
    found: dict[str, list[str]] = {}
    for bot in bots:
        for says in dict.fromkeys(cell["rests_on"] for cell in bot["cells"] if cell.get("rests_on")):
            found.setdefault(says, []).append(bot["bot"])
    return found


@register.filter
def titled(cells: Iterable[Any], columns: Iterable[Mapping[str, Any] | str]) -> list[tuple[Any, str]]:
    """Each cell of a row with the title of its column, which stands beside it where rows stand as blocks."""
    titles = (each if isinstance(each, str) else each["title"] for each in columns)
    return list(zip(cells, titles, strict=True))


@register.filter
def any_has(rows: list[dict[str, Any]], key: str) -> bool:
    """Whether one of the rows says something of this, so that a table needs a column for it."""
    return any(row.get(key) is not None for row in rows)


@register.filter
def of_two(comparisons: list[dict[str, Any]]) -> bool:
    """Whether all of them are of the same two systems, by one score after the other."""
    return len({(each["first"], each["second"]) for each in comparisons}) == 1


@register.filter
def other_analysis(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result as the other analysis has it."""
    return other_result(result)
