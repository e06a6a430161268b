"""LaTeX tables for a paper: preferences, strengths and style of pairs, and models of raters. Pure."""

from collections.abc import Iterator, Mapping, Sequence
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


_MODELS = {"labels": "As labelled", "dawid_skene": "Dawid and Skene", "mace": "MACE"}
_OF_RATERS = {"accuracy": "Accuracy", "competence": "Competence"}


def shares(result: Result) -> Made:
    """Table of the share of each answer, as labelled and by both models; no rows without a model."""
    rows = [
        [question, escaped(row["bot"]), escaped(row["answer"]), *_cells(row, _MODELS)]
        for question, figures in _fitted(result)
        for row in figures["systems"]
    ]
    notes = "Shares in percent, if raters err independently of each other once the true answer is known."
    return ["Question", "System", "Answer", *_MODELS.values()], rows, f"{notes} {_rests_on(result)}", 3


def workers(result: Result) -> Made:
    """Table of the workers with the lowest accuracy; no rows without a model."""
    rows = [
        [question, escaped(row["worker"]), *_cells(row, _OF_RATERS), str(row["labels"])]
        for question, figures in _fitted(result)
        for row in figures["raters"]
    ]
    notes = (
        "The workers with the lowest accuracy: how often they give the true answer by Dawid and Skene, and "
        "their competence by MACE, in percent."
    )
    return ["Question", "Worker", *_OF_RATERS.values(), "Labels"], rows, f"{notes} {_rests_on(result)}", 2


def _fitted(result: Result) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Escaped question and figures of each question that has models."""
    for each in result.get("rater_models", ()):
        if "undefined" not in each:
            yield escaped(" ".join(filter(None, (each["question"], each.get("choice"))))), each


def _rests_on(result: Result) -> str:
    """What the intervals hold for; empty for reports of earlier versions, which have none."""
    return " ".join(dict.fromkeys(each.get("rests_on", "") for _, each in _fitted(result)))


def _cells(row: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    intervals = row.get("intervals", {})
    return [estimate({"value": row[name], **intervals.get(name, {})}) for name in names]
