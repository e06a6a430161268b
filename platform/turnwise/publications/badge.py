"""Badge with a system's main score, or its strength and rank, with the interval, as SVG for a README."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from django.utils.translation import gettext as _

from evaluation.files.writing import figure, percent, with_unit

_LETTER, _MARGIN, _HEIGHT = 6.6, 10, 20  # pixels
_LONGEST = 40


class NoBadgeError(LookupError):
    """The results have no such badge; the message says why."""


@dataclass(frozen=True, slots=True)
class _Scored:
    """Contents of the badges of all systems.

    Attributes:
        title: of the main score; of pairs, the word strength.
        unit: follows each value; may be empty.
        digits: number of decimal places.
        cells: by system, best first: `value`, `low` and `high` if there is an interval, and of pairs `rank`.
        level: of the intervals.
    """

    title: str
    unit: str
    digits: int
    cells: Mapping[str, Mapping[str, Any]]
    level: float


def badged_systems(snapshot: Mapping[str, Any]) -> list[str]:
    """Systems with a main score or a strength, best first; a badge without a name is that of the first."""
    return list(_scored(snapshot).cells)


def badge(snapshot: Mapping[str, Any], system: str = "") -> str:
    """Draw the badge of a system.

    Args:
        snapshot: the published results.
        system: name of the system; "" for the one with the best score.

    Raises:
        NoBadgeError: the results have no main score and no strengths, or no such system.
    """
    scored = _scored(snapshot)
    systems = list(scored.cells)
    if not systems:
        raise NoBadgeError(_("These results have no main score, so they have no badge."))
    if system and system not in systems:
        raise NoBadgeError(
            _("No system is called “%(system)s”. There are: %(systems)s.")
            % {"system": system[:80], "systems": ", ".join(systems[:20])}
        )
    name = system or systems[0]
    label = scored.title if len(systems) == 1 else f"{name} · {scored.title}"
    value = _value(scored.cells[name], scored)
    interval = f", {percent(scored.level)} interval in brackets" if "low" in scored.cells[name] else ""
    return _drawn(label, value, f"{scored.title} of {name}: {value}{interval}")


def _scored(snapshot: Mapping[str, Any]) -> _Scored:
    """The main scores; of pairs, the strengths by the first question."""
    ask = snapshot["results"]["asks"][0]
    if ask["preferences"]:
        cells = {bot["bot"]: bot for bot in ask["preferences"][0]["strengths"]["bots"]}
        return _Scored("strength", "", 2, _best_first(cells), ask["level"])
    keys = [column["key"] for column in ask["columns"]]
    if ask.get("headline") not in keys:
        return _Scored("", "", 0, {}, ask["level"])
    number = keys.index(ask["headline"])
    column = ask["columns"][number]
    cells = {bot["bot"]: bot["cells"][number] for bot in ask["bots"]}
    unit, digits = ("%", 0) if column["percent"] else ("", 1)
    return _Scored(column["title"], unit, digits, _best_first(cells), ask["level"])


def _best_first(cells: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    scored = [(name, cell) for name, cell in cells.items() if cell.get("value") is not None]
    return dict(sorted(scored, key=lambda each: -each[1]["value"]))


def _value(cell: Mapping[str, Any], scored: _Scored) -> str:
    """Such as 72 % [66, 78]; the unit and its interval do not part. Of pairs with the rank."""
    digits = scored.digits
    value = figure(cell["value"], digits)
    value = with_unit(value, scored.unit) if scored.unit else value
    if "low" in cell:
        value = f"{value} [{figure(cell['low'], digits)}, {figure(cell['high'], digits)}]"
    if "rank" not in cell:
        return value
    best, worst = cell["rank"]["best"], cell["rank"]["worst"]
    return f"{value} · rank {best}" if best == worst else f"{value} · rank {best} to {worst}"


def _drawn(label: str, value: str, description: str) -> str:
    label = label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…"
    widths = [round(len(text) * _LETTER) + 2 * _MARGIN for text in (label, value)]
    left, width = widths[0], sum(widths)
    texts = "".join(
        f'<text x="{x:.1f}" y="14" textLength="{room - 2 * _MARGIN}" lengthAdjust="spacingAndGlyphs">'
        f"{escape(text)}</text>"
        for text, x, room in ((label, left / 2, left), (value, left + widths[1] / 2, widths[1]))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{_HEIGHT}" role="img" '
        f'aria-label="{escape(description)}"><title>{escape(description)}</title>'
        f'<clipPath id="round"><rect width="{width}" height="{_HEIGHT}" rx="4"/></clipPath>'
        f'<g clip-path="url(#round)"><rect width="{left}" height="{_HEIGHT}" fill="#2f3a3c"/>'
        f'<rect x="{left}" width="{widths[1]}" height="{_HEIGHT}" fill="#0a5b51"/></g>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )
