"""Injected effects of a study's factors, and what the report must say of them. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from evaluation.report.conditions import CHATBOT
from evaluation.report.label_columns import of_all
from turnwise.rehearsals.expected_results import expected_scores
from turnwise.rehearsals.findings import Finding, compare_with_interval
from turnwise.rehearsals.injected_effects import Plan
from turnwise.studies.conditions.factors import Condition, Factor

STRONGEST, WEAKER = 0.3, 0.15
"""Largest tilt of the answers by the first factor, and by each further one."""


def tilt_of(factors: Sequence[Factor], condition: Condition) -> float:
    """How far the answers of people in a condition are tilted (`simulated_answers.tilted`).

    The first level of a factor has no effect and the last one the whole, so that every two levels differ.
    """
    total = 0.0
    for number, factor in enumerate(factors):
        names = [level["name"] for level in factor["levels"]]
        if condition.get(factor["name"]) in names:
            share = names.index(condition[factor["name"]]) / (len(names) - 1)
            total += share * (WEAKER if number else STRONGEST)
    return total


def condition_findings(
    plans: Sequence[Plan], conditions: Mapping[str, Condition], result: Mapping[str, Any]
) -> list[Finding]:
    """Compare the injected effects of the study's factors with the report.

    Args:
        plans: dealt answers of each ask, in the order of the report; names of things begin with a dialogue.
        conditions: by public id of a dialogue, the condition of its worker.
        result: the stored report.
    """
    found: list[Finding] = []
    for plan, figures in zip(plans, (result, *result.get("beside", ())), strict=True):
        analysed = of_all(figures).get("conditions")
        labelled = {thing.partition(" ")[0] for thing in plan.recorded}
        if analysed is None:
            words = "Conditions: the report does not compare them, although people were assigned to them."
            found.append(Finding(not labelled, words))
            continue
        found += _counts(labelled, conditions, analysed)
        for score in analysed["scores"]:
            found += _differences(plan, conditions, score)
    return found


def _counts(
    labelled: Collection[str], conditions: Mapping[str, Condition], analysed: Mapping[str, Any]
) -> Iterator[Finding]:
    for factor in analysed["factors"]:
        name = factor["name"]
        reported = {level["name"]: level["participants"] for level in factor["levels"]}
        came = [conditions[dialogue][name] for dialogue in labelled]
        injected = {level: came.count(level) for level in reported}
        yield Finding(
            injected == reported,
            f"Factor {name}: the report counts {_people(reported)}; of the workers {_people(injected)} gave "
            "labels that count.",
        )


def _people(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} with {level}" for level, number in counts.items())


def _differences(
    plan: Plan, conditions: Mapping[str, Condition], score: Mapping[str, Any]
) -> Iterator[Finding]:
    """Compare the differences of every two levels in one score."""
    if reason := score.get("undefined"):
        yield Finding(None, f"{score['title']} by condition: {reason}")
        return
    means = _cell_means(plan, conditions, score)
    if not means:  # some answers may be left out, so no mean is known beforehand
        return
    names = score["factors"]
    for row in score["differences"]:
        position = names.index(row["factor"])
        first, second = (
            fmean(mean for cell, mean in means.items() if cell[position] == row[side])
            for side in ("first", "second")
        )
        yield compare_with_interval(
            f"{score['title']}, {row['factor']} {row['first']} less {row['second']}",
            first - second, row["value"], row, "no interval.", 1,
        )  # fmt: skip


def _cell_means(
    plan: Plan, conditions: Mapping[str, Condition], score: Mapping[str, Any]
) -> dict[tuple[str, ...], float]:
    """Injected mean of each cell of the analysis, where every worker counts once."""
    of_worker: dict[tuple[tuple[str, ...], str], list[float]] = {}
    for thing in plan.recorded:
        dialogue, (system, _state) = thing.partition(" ")[0], plan.things[thing]
        levels = {**conditions[dialogue], CHATBOT: system}
        cell = tuple(levels[name] for name in score["factors"])
        if (value := expected_scores(plan, thing).get(score["key"])) is not None:
            of_worker.setdefault((cell, dialogue), []).append(value)
    cells: dict[tuple[str, ...], list[float]] = {}
    for (cell, _dialogue), values in of_worker.items():
        cells.setdefault(cell, []).append(fmean(values))
    return {cell: fmean(values) for cell, values in cells.items()}
