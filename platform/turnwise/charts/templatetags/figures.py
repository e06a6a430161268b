"""Template filters that print numbers of reports: a minus sign, not a hyphen; never a p of 0."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from django import template
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evaluation.files.writing import figure, p_equals, p_value, percent, signed, with_unit
from evaluation.report.label_columns import other_result

register = template.Library()


for each in (figure, signed, p_value, p_equals, percent):
    register.filter(each.__name__, each)


@register.filter
def from_to(cell: Mapping[str, Any], digits: int = 1) -> str:
    """Interval of a figure, such as 61.1 to 85.0."""
    ends = {"low": figure(cell["low"], digits), "high": figure(cell["high"], digits)}
    return gettext("%(low)s to %(high)s") % ends


@register.filter
def rank(interval: Mapping[str, int]) -> str:
    """Interval of a rank, such as 2 or 2 to 4."""
    if interval["best"] == interval["worst"]:
        return str(interval["best"])
    return gettext("%(low)s to %(high)s") % {"low": interval["best"], "high": interval["worst"]}


@register.filter
def seconds(value: float) -> str:
    """Duration in seconds, or in milliseconds below a tenth of a second."""
    return with_unit(figure(value, 2), "s") if value >= 0.1 else with_unit(figure(1000 * value, 0), "ms")


@register.filter
def milliseconds(value: float) -> str:
    """Duration given in milliseconds, printed as by `seconds`."""
    return seconds(value / 1000)


@register.filter
def beyond(level: float) -> str:
    """Significance level that belongs to an interval's level: 5 % for 95 %."""
    return percent(round(1 - level, 9))


@register.filter
def in_words(name: str) -> str:
    """Name of a category with spaces: likes_and_dislikes becomes “likes and dislikes”."""
    return name.replace("_", " ")


_FAULTS = {
    "BotBusy": _("too busy"),
    "CircuitOpen": _("resting after failures"),
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
    """Reason why a bot gave no reply, in a few words; `kind` is the stored and exported code."""
    return str(_FAULTS.get(kind, _("failed")))


@register.filter
def by_basis(bots: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Systems by the sentence that says what the intervals of their scores rest on."""
    titles: dict[str, list[str]] = {}
    for bot in bots:
        for says in dict.fromkeys(cell["rests_on"] for cell in bot["cells"] if cell.get("rests_on")):
            titles.setdefault(says, []).append(bot["bot"])
    return titles


@register.filter
def titled(cells: Iterable[Any], columns: Iterable[Mapping[str, Any] | str]) -> list[tuple[Any, str]]:
    """Pair each cell with its column's title, which narrow screens show beside the cell."""
    titles = (each if isinstance(each, str) else each["title"] for each in columns)
    return list(zip(cells, titles, strict=True))


@register.simple_tag
def score_cells(cells: Iterable[Mapping[str, Any]], columns: Iterable[Mapping[str, Any] | str]) -> str:
    """Cells of a row of scores with their intervals, as HTML.

    They are written here because the template language is slow for the thousands in a report of 30 systems.
    """
    return mark_safe("".join(_score_cell(cell, title) for cell, title in titled(cells, columns)))


def _score_cell(cell: Mapping[str, Any], title: str) -> str:
    start = f'<td data-label="{escape(title)}">'
    if cell.get("value") is None:
        return f'{start}<span class="soft">{escape(gettext("no answer"))}</span></td>'
    if cell.get("undefined"):
        ends = escape(gettext("no interval"))
    else:
        ends = f'<span class="nowrap">{escape(from_to(cell))}</span>'
    return f'{start}<strong>{figure(cell["value"])}</strong> <span class="interval">{ends}</span></td>'


@register.filter
def any_has(rows: list[dict[str, Any]], key: str) -> bool:
    """Return whether any row has a value for this key, so that the table needs the column."""
    return any(row.get(key) is not None for row in rows)


@register.filter
def of_two(comparisons: list[dict[str, Any]]) -> bool:
    """Return whether all comparisons are of the same two systems."""
    return len({(each["first"], each["second"]) for each in comparisons}) == 1


@register.filter
def other_analysis(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Result of the other analysis; None without one."""
    return other_result(result)


_OUTCOMES = {
    "complete": _("Complete"),
    "cut": _("Cut"),
    "refused": _("Refused"),
    "filtered": _("Filtered"),
    "tool_call": _("Tool call"),
    "fallback": _("Fallback"),
    "stopped": _("Stopped"),
}


@register.filter
def outcome(name: str) -> str:
    """Outcome of a reply, as the head of a column."""
    return str(_OUTCOMES[name])


@register.filter
def money(amount: float, currency: str) -> str:
    """Amount of money with its currency: two decimals, and four below one unit."""
    return with_unit(figure(amount, 2 if amount >= 1 or not amount else 4), currency)


@register.filter
def with_replies(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Figures of the replies of the systems that have any, each with the system's name."""
    return [{"bot": row["bot"], **row["replies"]} for row in rows if "replies" in row]
