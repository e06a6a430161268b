"""The numbers of a judging study: systems by mean and majority of several raters per item. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.bootstrap import LEVEL, RESAMPLES
from evaluation.estimates import estimates
from evaluation.interval import Undefined
from evaluation.labels import AnyArray, FloatArray, IntArray
from evaluation.means import means
from evaluation.questions import QuestionSet
from evaluation.report.comparisons import comparisons
from evaluation.report.consensus import agreement
from evaluation.report.figures import METHOD, SEED, bot_scores, columns_of, scored, scores_without
from evaluation.report.judged import Judged
from evaluation.report.raters import rater_figures
from evaluation.ssa import Unit, spread

PAPER_RATERS = 5


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """The judgments of a study, and what they are of.

    Attributes:
        judged: one row per judgment; `bot` is the system, `dialogue` the context or conversation that items
            share, `reply` tells the items of one context apart.
        repetition: (n,) which of a system's repeated runs the item is from, counted from 1.
        raters_wanted: raters that the plan wants for each item.
        items: items of the study, judged or not.
        languages: codes of the languages of the study.
        remarked: by system, items with a judgment and with remarks, as of a filter that changed them.
        fallbacks: by system, those of them that are a prepared sentence of a filter.
    """

    judged: Judged
    repetition: IntArray
    raters_wanted: int
    items: int
    languages: Sequence[str] = ()
    remarked: Mapping[str, int] = field(default_factory=dict)
    fallbacks: Mapping[str, int] = field(default_factory=dict)


def judging_figures(
    questions: QuestionSet, found: JudgedItems, *, set_aside: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Everything that the judgments tell, ready to be stored as JSON.

    Args:
        questions: what was asked.
        found: the judgments.
        set_aside: by worker whom an admin has set aside, the reason; as in `figures.study_figures`.

    Returns:
        The keys of `figures.study_figures` that make sense here, and `majority`, `repetitions`,
        `raters_per_item`, `deviations`, and `remarks` if there are any. Intervals resample contexts, or
        conversations, as a whole.
    """
    judged = found.judged
    columns = columns_of(questions)
    return {
        "task": "judging",
        "columns": [{"key": c.key, "title": c.title, "percent": c.factor == 100} for c in columns],
        "bots": bot_scores(questions, judged),
        "majority": majority_scores(questions, judged),
        "repetitions": repetitions(questions, found),
        "comparisons": comparisons(
            questions, judged, np.random.default_rng(SEED), paired=_same_contexts(judged)
        ),
        "by_reply": [],
        "agreement": agreement(scored(questions), judged, np.random.default_rng(SEED)),
        "raters": rater_figures(questions, judged),
        "raters_per_item": raters_per_item(judged),
        "without": scores_without(questions, judged, set_aside or {}),
        "deviations": list(_deviations(questions, found)),
        "method": f"{LEVEL:.0%} intervals: {METHOD} bootstrap over contexts, {RESAMPLES} resamples",
        "seed": SEED,
        **_remarks(found),
    }


def _remarks(found: JudgedItems) -> dict[str, Any]:
    """How often a system's judged items were remarked on; nothing of a study in which none was."""
    rows = [
        {"bot": system, "items": found.remarked[system], "fallbacks": found.fallbacks.get(system, 0)}
        for system in sorted(found.remarked)
    ]
    return {"remarks": rows} if rows else {}


def _same_contexts(judged: Judged) -> bool:
    """Whether every system was judged in the same contexts, so that these can be compared one by one."""
    contexts = [set(judged.dialogue[judged.bot == bot].tolist()) for bot in judged.bots]
    return all(each == contexts[0] for each in contexts)


def majority_scores(questions: QuestionSet, judged: Judged) -> list[dict[str, Any]]:
    """By system, the share of items of which more than half of the raters say yes, in percent.

    None where a question is not answered by yes or no: there is no majority between yes and no then.
    """
    columns = columns_of(questions)
    if not len(judged) or any(column.factor != 100 for column in columns):
        return []
    rng = np.random.default_rng(SEED)
    if questions.key == "ssa":
        found = estimates(judged.labels, rng, unit=Unit.MAJORITY, method=METHOD)
        rows = {
            str(bot): [
                columns[0].cell(each.score.sensibleness, each.sensibleness),
                columns[1].cell(each.score.specificity, each.specificity),
                columns[2].cell(each.score.ssa, each.ssa),
            ]
            for bot, each in found.items()
        }
    else:
        rows = {bot: [] for bot in judged.bots}
        for column in columns:
            bots, contexts, votes = _of_items(judged, column.key)
            of_bots = means(bots, contexts, votes > 0.5, rng, method=METHOD)
            for bot, cells in rows.items():
                mean = of_bots.get(bot)
                cells.append(column.cell(mean.value, mean.interval) if mean else {"value": None})
    return [{"bot": bot, "cells": cells} for bot, cells in rows.items()]


def _of_items(judged: Judged, key: str) -> tuple[AnyArray, IntArray, FloatArray]:
    """Of each item with an answer: its system, its context, and the mean of the answers."""
    answered = judged.where(~np.isnan(judged.answers[key]))
    _, first, item = np.unique(answered.reply_code, return_index=True, return_inverse=True)
    votes = np.bincount(item, answered.answers[key]) / np.maximum(np.bincount(item), 1)
    return answered.bot[first], answered.dialogue[first], votes


def repetitions(questions: QuestionSet, found: JudgedItems) -> list[dict[str, Any]]:
    """By system with several runs over the contexts, mean and standard deviation of each score."""
    several = []
    for bot in found.judged.bots:
        mine = found.judged.bot == bot
        numbers = np.unique(found.repetition[mine]).tolist()
        if len(numbers) < 2:
            continue
        runs = [
            _scores(questions, found.judged.where(mine & (found.repetition == number))) for number in numbers
        ]
        cells = [_spread([run[index] for run in runs]) for index in range(len(runs[0]))]
        several.append({"bot": bot, "runs": len(numbers), "cells": cells})
    return several


def _scores(questions: QuestionSet, judged: Judged) -> list[float]:
    """The value of each column over these judgments of one system; NaN where nothing was answered."""
    columns = columns_of(questions)
    values = [
        float(column.factor * judged.answers[column.key][~np.isnan(judged.answers[column.key])].mean())
        for column in columns
        if column.key in judged.answers
    ]
    return [*values, float(np.mean(values))] if len(columns) > len(values) else values


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return {"value": None, "deviation": None}
    of_runs = spread(known)
    is_known = not isinstance(of_runs.deviation, Undefined)
    return {"value": of_runs.mean, "deviation": of_runs.deviation if is_known else None}  # type: ignore[dict-item]


def raters_per_item(judged: Judged) -> list[dict[str, int]]:
    """How many items have how many raters, most raters first; items that nobody judged are not here."""
    _, raters = np.unique(judged.reply_code, return_counts=True)
    counts = Counter(raters.tolist())
    return [{"raters": number, "items": counts[number]} for number in sorted(counts, reverse=True)]


def _deviations(questions: QuestionSet, found: JudgedItems) -> Iterator[str]:
    """Each departure from the paper's judging of responses by independent workers, in a sentence."""
    if found.raters_wanted != PAPER_RATERS:
        judge = "1 worker judges" if found.raters_wanted == 1 else f"{found.raters_wanted} workers judge"
        yield f"{judge} each item; in the paper {PAPER_RATERS}."
    full = sum(r["items"] for r in raters_per_item(found.judged) if r["raters"] >= found.raters_wanted)
    if full < found.items:
        yield (
            f"{found.items - full} of {found.items} items have fewer than the {found.raters_wanted} raters "
            f"that are wanted; in the paper every item has all of them."
        )
    if questions.key not in ("ssa", "human-likeness"):
        yield f"Workers answer the questions “{questions.title}”; in the paper sensibleness and specificity."
    if len(found.languages) != 1:
        listed = ", ".join(found.languages) or "none"
        yield f"The languages of the study are {listed}; in the paper each evaluation is in one language."
