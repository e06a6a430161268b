"""Rows of the meter of a stopping rule: the interval of each comparison as a bar, and in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import template
from django.utils.translation import gettext as _

from evaluation.files.writing import figure
from evaluation.planning.stopping import Outcome

register = template.Library()
WIDTH = 200
"""Width of the bar in units of its drawing."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar of an interval, in units of its drawing, as text of a template.

    Attributes:
        left: of the interval.
        width: of the interval.
        estimate: place of the difference.
        zone_left: of the zone without a difference that matters.
        zone_width: of that zone.
        end: distance of either end from 0, as shown.
    """

    left: str
    width: str
    estimate: str
    zone_left: str
    zone_width: str
    end: str


@dataclass(frozen=True, slots=True)
class MeterRow:
    """One comparison.

    Attributes:
        pair: the two systems.
        says: interval and decision in words.
        needed: what it would take, in words; empty if it is decided or unknown.
        bar: the drawing; None without an interval.
    """

    pair: Mapping[str, Any]
    says: str
    needed: str
    bar: Bar | None


@register.filter
def meter_rows(figures: Mapping[str, Any]) -> list[MeterRow]:
    """Rows of the meter, one for each comparison of the rule.

    Args:
        figures: result of `evaluation.report.stopping.stopping_figures`.
    """
    return [
        MeterRow(row, _says(row, figures), _needed(row, figures), _bar(row, figures))
        for row in figures["pairs"]
    ]


def _says(row: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    if "low" not in row:
        says = _("%(first)s and %(second)s have no interval yet: %(reason)s")
        return says % {"first": row["first"], "second": row["second"], "reason": row.get("undefined", "")}
    leads = row["difference"] >= 0
    values = {
        "ahead": row["first"] if leads else row["second"],
        "behind": row["second"] if leads else row["first"],
        "by": figure(abs(row["difference"])),
        "low": figure(row["low"] if leads else -row["high"]),
        "high": figure(row["high"] if leads else -row["low"]),
        "margin": figure(figures["margin"]),
        "n": row["conversations"],
        "score": figures["score"],
    }
    sentences = {
        Outcome.DIFFERENT: _(
            "Decided: %(ahead)s is ahead of %(behind)s by %(by)s points of %(score)s (%(low)s to %(high)s), "
            "after %(n)s conversations with each."
        ),
        Outcome.EQUIVALENT: _(
            "Decided: %(ahead)s and %(behind)s differ by less than %(margin)s points of %(score)s (%(low)s "
            "to %(high)s), after %(n)s conversations with each."
        ),
        Outcome.UNDECIDED: _(
            "Not decided: %(ahead)s is ahead of %(behind)s by %(by)s points of %(score)s (%(low)s to "
            "%(high)s), after %(n)s conversations with each."
        ),
    }
    return sentences[Outcome(row["outcome"])] % values


def _needed(row: Mapping[str, Any], figures: Mapping[str, Any]) -> str:
    if "low" not in row or row["outcome"] != Outcome.UNDECIDED:
        return ""
    if row["needed"] is None:
        says = _("If the difference stays like this, the largest number, %(n)s, will not decide it.")
        return says % {"n": figures["largest"]}
    says = _("If the difference stays like this, about %(n)s conversations with each decide it.")
    return says % {"n": max(row["needed"], row["conversations"] + 1, figures["first_look"])}


def _bar(row: Mapping[str, Any], figures: Mapping[str, Any]) -> Bar | None:
    if "low" not in row:
        return None
    end = 1.15 * max(abs(row["low"]), abs(row["high"]), figures["margin"])

    def at(value: float) -> float:
        return float(WIDTH * (value + end) / (2 * end))

    margin = figures["margin"]
    return Bar(
        left=f"{at(row['low']):.2f}",
        width=f"{at(row['high']) - at(row['low']):.2f}",
        estimate=f"{at(row['difference']):.2f}",
        zone_left=f"{at(-margin):.2f}",
        zone_width=f"{at(margin) - at(-margin):.2f}",
        end=figure(end),
    )
