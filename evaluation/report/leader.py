"""The leader by the main score, with an ordinary and with a sequential (always-valid) comparison. Pure.

A sequential comparison needs observations that arrive one after the other, each with the same mean given the
earlier ones. Labels do not fulfil this: labels of a conversation, and of a worker, depend on each other. So
each worker counts once: with the first conversation that they judged, or with the mean over their whole
batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.planning.sequential import always_valid_difference, always_valid_mean
from evaluation.questions import QuestionSet, bounds, score_values
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray

Row = Mapping[str, Any]


def find_leader(
    questions: QuestionSet, bots: Sequence[Row], comparisons: Sequence[Row], terms: Terms
) -> dict[str, Any] | None:
    """Find the leader by the main score and the runner-up, with their difference; for one system, its score.

    Args:
        questions: the question set.
        bots: result of `figures.bot_scores`.
        comparisons: result of `figures.comparisons`.
        terms: level of the intervals, and nouns.

    Returns:
        `score`, `percent`, `systems`, `noun` and the `leader`. For a single system, its `value` with `low`
        and `high`. For several, the `next` with `difference`, `low`, `high`, `p`, `certain` (p is below 1 -
        level), `more` (further conversations with each that would show such a difference), and with a
        declared margin the result of `equivalence`. None without a score.
    """
    score = questions.main_score
    if score is None:
        return None
    column = questions.scores.index(score)
    ranked = sorted(
        (bot for bot in bots if bot["cells"][column]["value"] is not None),
        key=lambda bot: -bot["cells"][column]["value"],
    )
    if not ranked:
        return None
    answer = {
        "score": score.title,
        "percent": score.is_percent,
        "systems": len(ranked),
        "noun": terms.nouns.cluster,
        "leader": ranked[0]["bot"],
    }
    if len(ranked) == 1:
        cell = ranked[0]["cells"][column]
        return answer | {name: cell[name] for name in ("value", "low", "high", "undefined") if name in cell}
    pair = _between(ranked[0]["bot"], ranked[1]["bot"], score.key, comparisons)
    return answer | {"next": ranked[1]["bot"], **_lead(pair, ranked[0]["bot"], terms)}


def _between(one: str, two: str, score: str, comparisons: Sequence[Row]) -> Row:
    pairs = (each for each in comparisons if each["score"] == score)
    return next(each for each in pairs if {each["first"], each["second"]} == {one, two})


def _lead(pair: Row, leader: str, terms: Terms) -> dict[str, Any]:
    """The comparison from the leader's side."""
    ahead = pair["first"] == leader
    lead = {"difference": abs(pair["difference"]), "p": pair["p_holm"]}
    if "low" in pair:
        low, high = (pair["low"], pair["high"]) if ahead else (-pair["high"], -pair["low"])
        lead |= {"low": low, "high": high}
    certain = pair["p_holm"] is not None and pair["p_holm"] < 1 - terms.level
    keys = ("margin", "p_equivalent", "equivalent")
    return lead | {"certain": certain, "more": pair["more"]} | {key: pair[key] for key in keys if key in pair}


MOST = 2_000
"""Most units of a sequential comparison: each takes a step, and larger studies are not stopped early."""
THIRD_RATER = (
    "A further rater judges what two answer differently, so who comes later gets the harder items, and the "
    "lead among them is another than among all."
)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Order of arrival of the units of a sequential comparison.

    Attributes:
        raters: raters with a whole batch, in the order in which they finished it; None if workers judge
            conversations, which arrive in the order of their numbers.
        why_not: reason why there is no sequential comparison; "" if there is one.
    """

    raters: Sequence[str] | None = None
    why_not: str = ""


CONVERSATIONS = Arrivals()


def raters_in_order(raters: Sequence[AnyArray], arrivals: Sequence[IntArray]) -> AnyArray:
    """(n,) rater of each judgment of a study, in the order of the judgments.

    Args:
        raters: by ask, the rater of each judgment.
        arrivals: by ask, numbers that order the judgments of all asks.
    """
    return np.concatenate(raters)[np.argsort(np.concatenate(arrivals), kind="stable")]


def batches(
    rater: AnyArray, whole: int, *, third_rater: bool = False, beside: Mapping[str, int] | None = None
) -> Arrivals:
    """Compute the order in which raters finished whole batches.

    Args:
        rater: (n,) rater of each judgment of all asks, in order. A batch has items of any ask; its choice and
            size do not depend on answers.
        whole: number of judgments of a whole batch.
        third_rater: true if items on which raters differ are judged again.
        beside: by rater, further judgments of their batch, of anchors; None: none.
    """
    if third_rater:
        return Arrivals((), THIRD_RATER)
    last = {name: row for row, name in enumerate(rater.tolist())}
    names, counts = np.unique(rater.astype(str), return_counts=True)
    counts = counts + np.array([(beside or {}).get(name, 0) for name in names.tolist()], dtype=np.int64)
    done = names[counts >= whole].tolist()
    return Arrivals(sorted(done, key=last.__getitem__))


def always_valid(
    questions: QuestionSet,
    judged: Judged,
    answer: Mapping[str, Any] | None,
    terms: Terms,
    arrivals: Arrivals = CONVERSATIONS,
) -> dict[str, Any] | None:
    """Compute the sequential (always-valid) interval of the lead by the main score.

    The leading pair is not known in advance, so the intervals of all pairs hold together (Bonferroni).

    Args:
        questions: the question set.
        judged: the labels that count.
        answer: the result of `find_leader`.
        terms: level of the interval.
        arrivals: order of arrival.

    Returns:
        `low` and `high` as shown, the number of `units` and their kind, `unit`, and the number of
        conversations `left_out` because their worker had judged one before; or `undefined` with the reason.
        None with fewer than two systems.
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
        lead, left_out = _of_conversations(judged, values, ends, level)
    else:
        leads = _rater_leads(judged, values, ends, arrivals.raters)
        lead, left_out = lead_of_raters(leads, level, arrivals), 0
    if isinstance(lead, str):
        return {"undefined": lead}
    by, factor = lead, score.factor * (high - low)
    interval = {"low": factor * by[0], "high": factor * by[1], "units": by[2], "left_out": left_out}
    return interval | {"unit": "conversation" if arrivals.raters is None else "rater"}


_IntervalOrReason = tuple[float, float, int] | str
"""Ends of the interval and number of units; or the reason why there is none."""


def lead_of_raters(leads: FloatArray, level: float, arrivals: Arrivals) -> _IntervalOrReason:
    """Compute the sequential interval of the mean lead over raters.

    Args:
        leads: (n,) leads, in [-1, 1], of raters with both systems in a whole batch, in the order in which
            they finished it.
        level: level of the interval.
        arrivals: order of arrival behind `leads`.
    """
    if arrivals.why_not:
        return arrivals.why_not
    if len(leads) < 2:
        return "Fewer than two raters have judged a whole batch with both in it, and each counts once."
    if len(leads) > MOST:
        return _too_many("raters")
    interval = always_valid_mean((leads + 1) / 2, level).now()
    return (
        interval.reason
        if isinstance(interval, Undefined)
        else (2 * interval.low - 1, 2 * interval.high - 1, len(leads))
    )


def means_of_raters(judged: Judged, values: FloatArray, selected: BoolArray) -> dict[str, float]:
    """By rater, the mean value of their chosen labels (mask (n,)); raters without any are left out."""
    defined = selected & ~np.isnan(values)
    codes, group = np.unique(judged.rater_code[defined], return_inverse=True)
    means = np.bincount(group, values[defined], len(codes)) / np.bincount(group, minlength=len(codes))
    return {judged.raters[code]: float(mean) for code, mean in zip(codes.tolist(), means, strict=True)}


def _rater_leads(
    judged: Judged, values: FloatArray, ends: tuple[str, str], raters: Sequence[str]
) -> FloatArray:
    one, other = (means_of_raters(judged, values, judged.bot == bot) for bot in ends)
    return np.array([one[rater] - other[rater] for rater in raters if rater in one and rater in other])


def _of_conversations(
    judged: Judged, values: FloatArray, ends: tuple[str, str], level: float
) -> tuple[_IntervalOrReason, int]:
    """Sequential interval from each worker's first conversation with either system, in order of start."""
    defined = np.isin(judged.bot, ends) & ~np.isnan(values)
    of_both, values = judged.where(defined), values[defined]
    first = np.full(len(of_both.raters), np.iinfo(np.int64).max)
    np.minimum.at(first, of_both.rater_code, of_both.dialogue)
    is_first = of_both.dialogue == first[of_both.rater_code]
    left_out = len(np.unique(of_both.dialogue)) - len(np.unique(of_both.dialogue[is_first]))
    one, other = (_means(of_both.dialogue, values, is_first & (of_both.bot == bot)) for bot in ends)
    if max(len(one), len(other)) > MOST:
        return _too_many("conversations"), left_out
    interval = always_valid_difference(one, other, level).now()
    if isinstance(interval, Undefined):
        return interval.reason, left_out
    return (interval.low, interval.high, min(len(one), len(other))), left_out


def _means(dialogue: AnyArray, values: FloatArray, selected: BoolArray) -> FloatArray:
    """Mean of each conversation, in the order of their numbers, clipped to [0, 1]."""
    _, group = np.unique(dialogue[selected], return_inverse=True)
    means: FloatArray = np.clip(np.bincount(group, values[selected]) / np.bincount(group), 0, 1)
    return means


def _too_many(units: str) -> str:
    return f"More than {MOST:,} {units} came, and a study as large as that is not stopped by looking at it."
