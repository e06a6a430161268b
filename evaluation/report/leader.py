"""The one thing that a report answers first: which system leads by the main score, and whether it is told.

A lead that may be looked at while a study fills. Pure.

What is betted on must come one after the other, each with the same mean given all before it. Labels do not:
those of a conversation, and those of a worker, go together. So each worker counts once here: of conversations
the first that they judged, of judged items the mean over their whole batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.questions import QuestionSet, bounds, score_values
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray
from evaluation.statistics.sequential import always_valid_difference, always_valid_mean

Row = Mapping[str, Any]


def find_leader(
    questions: QuestionSet, bots: Sequence[Row], comparisons: Sequence[Row], terms: Terms
) -> dict[str, Any] | None:
    """The leader by the main score and the next best, with their difference; of one system, its score.

    Args:
        questions: what was asked.
        bots: as `figures.bot_scores` gives them.
        comparisons: as `figures.comparisons` gives them.
        terms: level of the intervals, and words.

    Returns:
        `score`, `percent`, `systems`, `noun` and the `leader`; of a single system its `value` with `low` and
        `high`; of several the `next` with `difference`, `low`, `high`, `p`, whether it is `certain`, and, if
        it is not, how many `more` conversations with each would show such a difference, and of a declared
        `margin` what `equivalence` gives. None without a score.
    """
    score = questions.main_score
    if score is None:
        return None
    column = questions.scores.index(score)
    known = sorted(
        (bot for bot in bots if bot["cells"][column]["value"] is not None),
        key=lambda bot: -bot["cells"][column]["value"],
    )
    if not known:
        return None
    told = {
        "score": score.title,
        "percent": score.is_percent,
        "systems": len(known),
        "noun": terms.nouns.cluster,
        "leader": known[0]["bot"],
    }
    if len(known) == 1:
        cell = known[0]["cells"][column]
        return told | {name: cell[name] for name in ("value", "low", "high", "undefined") if name in cell}
    pair = _between(known[0]["bot"], known[1]["bot"], score.key, comparisons)
    return told | {"next": known[1]["bot"], **_lead(pair, known[0]["bot"], terms)}


def _between(one: str, two: str, score: str, comparisons: Sequence[Row]) -> Row:
    pairs = (each for each in comparisons if each["score"] == score)
    return next(each for each in pairs if {each["first"], each["second"]} == {one, two})


def _lead(pair: Row, leader: str, terms: Terms) -> dict[str, Any]:
    """The comparison as seen from the leader."""
    ahead = pair["first"] == leader
    lead = {"difference": abs(pair["difference"]), "p": pair["p_holm"]}
    if "low" in pair:
        low, high = (pair["low"], pair["high"]) if ahead else (-pair["high"], -pair["low"])
        lead |= {"low": low, "high": high}
    certain = pair["p_holm"] is not None and pair["p_holm"] < 1 - terms.level
    told = ("margin", "p_equivalent", "equivalent")
    return lead | {"certain": certain, "more": pair["more"]} | {key: pair[key] for key in told if key in pair}


MOST = 2_000
"""Each unit takes a step over a grid; a study of more of them is not stopped by looking at it."""
THIRD_RATER = (
    "A further rater judges what two answer differently, so who comes later gets the harder items, and the "
    "lead among them is another than among all."
)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """In which order a study fills, as far as it can be watched.

    Attributes:
        raters: who judged a whole batch, in the order in which they finished it; None where workers judge
            conversations, which come in the order of their numbers.
        why_not: why the lead cannot be watched; "" if it can.
    """

    raters: Sequence[str] | None = None
    why_not: str = ""


CONVERSATIONS = Arrivals()


def raters_in_order(raters: Sequence[AnyArray], given: Sequence[IntArray]) -> AnyArray:
    """(n,) who gave each judgment of a study, in the order in which they were given.

    Args:
        raters: by ask, who gave each of its judgments.
        given: likewise, numbers by which the judgments of all asks are in that order.
    """
    return np.concatenate(raters)[np.argsort(np.concatenate(given), kind="stable")]


def batches(rater: AnyArray, whole: int, *, third_rater: bool = False) -> Arrivals:
    """How a queue was judged.

    Args:
        rater: (n,) who gave each judgment, in the order in which they were given: of all asks, as a batch
            has items of any of them. Which it has, and how many, does not depend on what was answered.
        whole: judgments of a whole batch.
        third_rater: whether items on which raters differ are judged again.
    """
    if third_rater:
        return Arrivals((), THIRD_RATER)
    last = {name: row for row, name in enumerate(rater.tolist())}
    names, counts = np.unique(rater.astype(str), return_counts=True)
    done = names[counts >= whole].tolist()
    return Arrivals(sorted(done, key=last.__getitem__))


def always_valid(
    questions: QuestionSet,
    judged: Judged,
    answer: Mapping[str, Any] | None,
    terms: Terms,
    arrivals: Arrivals = CONVERSATIONS,
) -> dict[str, Any] | None:
    """The lead by the main score with an interval that holds however often one looks at it.

    Which two lead is not known before, so the intervals of all pairs hold together (Bonferroni).

    Args:
        questions: what was asked.
        judged: the labels that count.
        answer: who leads and who is next.
        terms: level of the interval.
        arrivals: the order in which they came.

    Returns:
        `low` and `high` as shown, how many `units` of which kind, `unit`, they rest on, and conversations
        `left_out` because their worker had judged one before; or `undefined`, with the reason. None with
        fewer than two systems.
    """
    score = questions.main_score
    if score is None or answer is None or "next" not in answer:
        return None
    low, high = bounds(questions, score)
    values = (score_values(questions, score, judged.answers) - low) / (high - low)
    pairs = answer["systems"] * (answer["systems"] - 1) // 2
    level = 1 - (1 - terms.level) / pairs
    ends = (answer["leader"], answer["next"])
    if arrivals.raters is None:
        found, left_out = _of_conversations(judged, values, ends, level)
    else:
        apart = _rater_leads(judged, values, ends, arrivals.raters)
        found, left_out = lead_of_raters(apart, level, arrivals), 0
    if isinstance(found, str):
        return {"undefined": found}
    by, factor = found, score.factor * (high - low)
    told = {"low": factor * by[0], "high": factor * by[1], "units": by[2], "left_out": left_out}
    return told | {"unit": "conversation" if arrivals.raters is None else "rater"}


_IntervalOrReason = tuple[float, float, int] | str
"""Ends of the interval and units; or why there is none."""


def lead_of_raters(apart: FloatArray, level: float, arrivals: Arrivals) -> _IntervalOrReason:
    """The mean lead over raters.

    Args:
        apart: (n,) by rater who judged both in a whole batch, in the order in which they finished, the one
            less the other, in [-1, 1].
        level: of the interval.
        arrivals: where `apart` is from.
    """
    if arrivals.why_not:
        return arrivals.why_not
    if len(apart) < 2:
        return "Fewer than two raters have judged a whole batch with both in it, and each counts once."
    if len(apart) > MOST:
        return _too_many("raters")
    found = always_valid_mean((apart + 1) / 2, level).now()
    return (
        found.reason if isinstance(found, Undefined) else (2 * found.low - 1, 2 * found.high - 1, len(apart))
    )


def means_of_raters(judged: Judged, values: FloatArray, chosen: BoolArray) -> dict[str, float]:
    """By rater, the mean of their values among the chosen (n,) labels; without those who have none."""
    known = chosen & ~np.isnan(values)
    codes, group = np.unique(judged.rater_code[known], return_inverse=True)
    means = np.bincount(group, values[known], len(codes)) / np.bincount(group, minlength=len(codes))
    return {judged.raters[code]: float(mean) for code, mean in zip(codes.tolist(), means, strict=True)}


def _rater_leads(
    judged: Judged, values: FloatArray, ends: tuple[str, str], raters: Sequence[str]
) -> FloatArray:
    one, other = (means_of_raters(judged, values, judged.bot == bot) for bot in ends)
    return np.array([one[rater] - other[rater] for rater in raters if rater in one and rater in other])


def _of_conversations(
    judged: Judged, values: FloatArray, ends: tuple[str, str], level: float
) -> tuple[_IntervalOrReason, int]:
    """The first conversation of each worker with either, paired in the order in which they were begun."""
    mine = np.isin(judged.bot, ends) & ~np.isnan(values)
    of_both, values = judged.where(mine), values[mine]
    first = np.full(len(of_both.raters), np.iinfo(np.int64).max)
    np.minimum.at(first, of_both.rater_code, of_both.dialogue)
    kept = of_both.dialogue == first[of_both.rater_code]
    left_out = len(np.unique(of_both.dialogue)) - len(np.unique(of_both.dialogue[kept]))
    one, other = (_means(of_both.dialogue, values, kept & (of_both.bot == bot)) for bot in ends)
    if max(len(one), len(other)) > MOST:
        return _too_many("conversations"), left_out
    found = always_valid_difference(one, other, level).now()
    if isinstance(found, Undefined):
        return found.reason, left_out
    return (found.low, found.high, min(len(one), len(other))), left_out


def _means(dialogue: AnyArray, values: FloatArray, chosen: BoolArray) -> FloatArray:
    """The mean of each conversation, in the order of their numbers; rounding leaves none outside [0, 1]."""
    _, group = np.unique(dialogue[chosen], return_inverse=True)
    means: FloatArray = np.clip(np.bincount(group, values[chosen]) / np.bincount(group), 0, 1)
    return means


def _too_many(units: str) -> str:
    return f"More than {MOST:,} {units} came, and a study as large as that is not stopped by looking at it."
