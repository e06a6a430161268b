"""LaTeX tables of pairs for a paper: preferences, strengths, and the effects of style. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.files.writing import escaped, estimate, p, percent

Result = Mapping[str, Any]
Made = tuple[Sequence[str], Sequence[Sequence[str]], str, int]
"""Head, rows, notes, and number of leading columns with words."""


def preferences(result: Result) -> Made:
    """Wins, losses and ties of every two systems, and how often both were bad, if that was an answer."""
    found = result.get("preferences", ())
    has_both_bad = any("both_bad" in row for each in found for row in each["meetings"])
    rows = [
        [
            escaped(each["key"].capitalize()),
            escaped(row["first"]),
            escaped(row["second"]),
            *(str(row[key]) for key in ("wins", "losses", "ties")),
            *([estimate(row.get("both_bad_share", {}))] if has_both_bad else []),
            estimate(row, "lead"),
            p(row["p_holm"]),
            *([p(row["p_equivalent"])] if "p_equivalent" in row else []),
            f"{row['ambiguous']} of {row['items']}",
            estimate(row["clear"] or {}, "lead"),
        ]
        for each in found
        for row in each["meetings"]
    ]
    notes = (
        f"Judgments for the first system, for the second, and ties; lead: wins less losses in points with "
        f"its {percent(result['level'])} interval; p corrected after Holm over the pairs of systems; "
        f"ambiguous: as many raters for the one as for the other, ties aside; the lead without these."
    )
    head = ["Question", "System", "Compared with", "Wins", "Losses", "Ties", "Lead", "$p$"]
    if has_both_bad:
        head.insert(6, "Both bad")
        notes += (
            " Both bad: percent of all judgments; they are among the ties, in the lead and the strengths."
        )
    if result.get("margin") is not None:
        head.append("$p$, margin")
        notes += f" The second p: of a lead of {result['margin']:g} points or more, the declared margin."
    return [*head, "Ambiguous", "Without"], rows, notes, 3


def strengths(result: Result) -> Made:
    """Strengths of all systems, as they are, without ambiguous pairs and adjusted for style."""
    rows = []
    for each in result.get("preferences", ()):
        clear = {bot["bot"]: bot for bot in each["strengths_clear"].get("bots", ())}
        styled = {bot["bot"]: bot for bot in each.get("style", {}).get("bots", ())}
        rows += [
            [
                escaped(each["key"].capitalize()),
                escaped(bot["bot"]),
                estimate(bot, digits=2),
                estimate(clear.get(bot["bot"], {}), digits=2),
                estimate(styled.get(bot["bot"], {}), digits=2),
            ]
            for bot in each["strengths"].get("bots", ())
        ]
    notes = (
        f"Bradley-Terry strengths with ties after Davidson: log-odds that sum to 0, with "
        f"{percent(result['level'])} intervals; the same without ambiguous pairs; and adjusted for style, "
        f"which is length and Markdown."
    )
    return ["Question", "System", "Strength", "Without ambiguous", "Adjusted"], rows, notes, 2


def style(result: Result) -> Made:
    """Effects of style on judgments."""
    rows = [
        [
            escaped(each["key"].capitalize()),
            escaped(effect["title"]),
            estimate({"value": effect["coefficient"], **effect["interval"]}, digits=2),
            estimate(effect["share"]),
        ]
        for each in result.get("preferences", ())
        for effect in each.get("style", {}).get("effects", ())
    ]
    notes = (
        f"Effects of style on judgments, estimated together with the strengths: log-odds of being preferred "
        f"for the usual difference in style, with {percent(result['level'])} intervals, and the share of "
        f"choices that this makes of an even one, in percent."
    )
    return ["Question", "Style", "Coefficient", "Share"], rows, notes, 2
