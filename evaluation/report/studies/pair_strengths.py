"""Strengths of all systems of a study of pairs on one scale, as they are and adjusted for style. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.files.writing import figure, with_unit
from evaluation.report.intervals import Terms
from evaluation.report.ranks import ranks_by
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import IntArray
from evaluation.statistics.pairwise import Duels, Strengths, bradley_terry, strength_differences
from evaluation.statistics.ranks import MOST_SYSTEMS
from evaluation.statistics.style_adjusted import StyleEffect, style_adjusted
from evaluation.texts.markdown_style import Style

ELEMENTS: Mapping[str, tuple[str, str]] = {
    "length": ("Length", "the longer side"),
    "headers": ("Headers", "the side with more headers"),
    "lists": ("List items", "the side with more list items"),
    "bold": ("Bold passages", "the side with more bold passages"),
}
"""By element of `Style`: its title, and the side that has more of it."""


def strength_figures(duels: Duels, terms: Terms, *, with_ranks: bool = False) -> dict[str, Any]:
    """Bradley-Terry strengths of all systems, with ties, as stored and shown.

    Returns:
        `bots` with `value`, `low` and `high` or `undefined`, and with ranks `rank`, the `best` and `worst`
        that the system can have, of which all hold at once; `tie_tendency`; `rests_on`, what the intervals
        generalise to. Only `undefined` if there are no strengths.
    """
    if not len(duels):
        return {"undefined": "There are no judgments."}
    strengths = bradley_terry(duels, level=terms.level)
    if isinstance(strengths, Undefined):
        return {"undefined": strengths.reason}
    stored = _stored(strengths, terms)
    ranks = _ranks(duels, stored["bots"], terms) if with_ranks else {}
    for bot in stored["bots"]:
        bot.update({"rank": ranks[bot["bot"]]} if bot["bot"] in ranks else {})
    return stored


def _ranks(duels: Duels, bots: Sequence[Mapping[str, Any]], terms: Terms) -> dict[str, dict[str, int]]:
    """Rank intervals by strength; empty for one system or more than 60."""
    if not 2 <= len(bots) <= MOST_SYSTEMS:
        return {}
    halves = [
        (str(first), str(second), exact((interval.high - interval.low) / 2))
        for first, second, interval in strength_differences(duels, level=terms.level)
        if isinstance(interval, Interval)
    ]
    return ranks_by({str(bot["bot"]): bot["value"] for bot in bots}, halves, level=terms.level)


def style_figures(
    duels: Duels, style: IntArray, unadjusted: Mapping[str, Any], terms: Terms
) -> dict[str, Any]:
    """Strengths of all systems adjusted for style, and the effect of each element of style.

    Args:
        duels: (n) the judgments.
        style: (n, 2, 4) `Style` of the first and of the second side.
        unadjusted: `strength_figures` of the same judgments.
        terms: level and nouns of the intervals.

    Returns:
        The keys of `strength_figures`; `effects`, for each element `coefficient` with its interval,
        `typical`, `share` of choices in percent for the side with more of it, and `words`; `equal`, titles of
        the elements in which no two sides differ; `changes`, a sentence on the order of the systems. Only
        `undefined` if there are no such strengths.
    """
    if "undefined" in unadjusted:
        return dict(unadjusted)
    found = style_adjusted(duels, style[:, 0], style[:, 1], Style._fields, level=terms.level)
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    stored = _stored(found.strengths, terms)
    return stored | {
        "effects": [_effect(each) for each in found.effects],
        "equal": [ELEMENTS[element][0] for element in found.equal],
        "changes": _changes(unadjusted["bots"], stored["bots"]),
    }


def _stored(strengths: Strengths, terms: Terms) -> dict[str, Any]:
    tie = strengths.tie_tendency
    return {
        "bots": [
            {"bot": bot, "value": exact(value), **_ends(strengths.intervals[bot])}
            for bot, value in strengths.strength.items()
        ],
        "tie_tendency": None if isinstance(tie, Undefined) else exact(tie),
        "rests_on": strengths.describe_interval(terms.nouns),
    }


def _effect(effect: StyleEffect) -> dict[str, Any]:
    share, interval = effect.share, effect.share_interval
    cell: dict[str, Any] = {
        "element": effect.element,
        "title": ELEMENTS[effect.element][0],
        "typical": exact(effect.typical),
        "coefficient": exact(effect.coefficient),
        "interval": _ends(effect.interval),
        "share": {"value": exact(100 * share)}
        | _ends(interval if isinstance(interval, Undefined) else interval.scaled(100)),
        "is_beyond_chance": isinstance(effect.interval, Interval) and 0 not in effect.interval,
    }
    return cell | {"words": _sentence(effect)}


def _sentence(effect: StyleEffect) -> str:
    """Sentence about two systems that are otherwise equally strong."""
    side = ELEMENTS[effect.element][1]
    usual = (
        f"is {effect.typical_ratio:.1f} times as long" if effect.element == "length" else "differs as usual"
    )
    share, interval = with_unit(figure(100 * effect.share, 0), "%"), effect.share_interval
    between = (
        ""
        if isinstance(interval, Undefined)
        else f" ({figure(100 * interval.low, 0)} to {with_unit(figure(100 * interval.high, 0), '%')})"
    )
    return (
        f"Of two systems that are otherwise equally strong, {side} is preferred in {share}"
        f"{between} of the judgments that prefer one, if it {usual}."
    )


def _changes(unadjusted: Sequence[Mapping[str, Any]], adjusted: Sequence[Mapping[str, Any]]) -> str:
    """Sentence on whether the order of the systems is the same without the influence of style."""
    before, after = _order(unadjusted), _order(adjusted)
    if before == after:
        return "The order of the systems is the same with and without the adjustment."
    return f"Adjusted for style the order is {', '.join(after)}; as judged it is {', '.join(before)}."


def _order(bots: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(each["bot"]) for each in sorted(bots, key=lambda each: -each["value"])]


def _ends(interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(interval, Undefined):
        return {"undefined": interval.reason}
    return {"low": exact(interval.low), "high": exact(interval.high)}


def exact(number: float) -> float:
    """Round to ten digits; further digits of the solution differ between processors."""
    return float(f"{number:.10g}")
