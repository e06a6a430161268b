"""Models of raters of unequal care, beside the labels as counted: Dawid & Skene, and MACE. Pure.

They decide nothing in a report.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.files.writing import percent
from evaluation.questions import Kind, Question, coded_answer, has_choice
from evaluation.rater_agreement.rater_models import RESAMPLES, Estimates, ModelledLabels, fitted_models
from evaluation.rater_agreement.ratings import Metric, Ratings, metric_of
from evaluation.report.figures import SEED
from evaluation.report.intervals import TERMS, Terms
from evaluation.report.label_columns import Judged
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray

SHOWN = 20
"""Number of raters to list, those with the lowest accuracy first."""


def rater_models(questions: Sequence[Question], judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """Compute both models for each question whose answers have no order.

    Args:
        questions: the questions of a set.
        judged: the labels.
        terms: level of the intervals, and nouns.

    Returns:
        For each question, or each choice of a question with several, `question`, `key`, maybe `choice`, and
        `undefined` with the reason, or `items`, `labels`, `alpha`, `converged`, `rests_on` (what the
        intervals hold for, or why there are none), `systems` (a row for each system and answer with its share
        in percent: `labels`, `dawid_skene`, `mace`) and `raters` (the ones with the lowest accuracy first:
        `worker`, `labels`, `accuracy`, `competence`). Each row has `intervals`: by the same names, `low` and
        `high`, or `undefined`. Empty if no item has labels of two raters.
    """
    if not judged.shared.any():
        return []
    return [
        {
            "question": question.wording,
            "key": question.key,
            **which,
            **_stored(of, codes, judged, answers, terms),
        }
        for question in questions
        for which, of, codes, answers in _modelled(question, judged)
    ]


_Modelled = tuple[dict[str, str], BoolArray, FloatArray, dict[float, str]]


def _modelled(question: Question, judged: Judged) -> Iterator[_Modelled]:
    """Yield what is modelled: which choice, labels with an answer, their codes, and answers by code."""
    codes = judged.answers.get(question.key)
    if codes is None:
        return
    if question.kind is Kind.SEVERAL:
        for choice in question.choices:
            chosen = has_choice(question, codes, choice.value)
            yield {"choice": choice.label}, ~np.isnan(chosen), chosen, {1.0: choice.label}
    elif question.level is not None and metric_of(question.level) is Metric.NOMINAL:
        named = {coded_answer(question, choice.value): choice.label for choice in question.choices}
        if all(isinstance(choice.value, bool) for choice in question.choices):
            named = {1.0: named.get(1.0, "")}
        yield {}, ~np.isnan(codes), codes, named


def _stored(
    answered: BoolArray, codes: FloatArray, judged: Judged, answers: dict[float, str], terms: Terms
) -> dict[str, Any]:
    there = judged.where(answered)
    if not len(there):
        return {"undefined": "Nobody answered."}
    ratings = Ratings.from_columns(there.reply_code, there.rater_code, codes[answered])
    first = np.unique(there.reply_code, return_index=True)[1]
    weight = np.ones(len(first)) if there.weight is None else there.weight[first]
    cluster = np.unique(there.dialogue[first], return_inverse=True)[1]
    labels = ModelledLabels(ratings, there.bot_code[first], weight, cluster)
    found = fitted_models(labels, np.random.default_rng(SEED))
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    columns = {code: n for n, code in enumerate(ratings.values.tolist())}
    systems = [
        {"bot": bot, "answer": label, **_cells(found.shares, terms.level, system, columns[code])}
        for system, bot in enumerate(there.bots)
        for code, label in answers.items()
        if code in columns
    ]
    names, counts = np.unique(there.rater_code), np.bincount(ratings.rater)
    of_raters = {"accuracy": found.accuracy, "competence": found.competence}
    raters = [
        {
            "worker": there.raters[names[row]],
            "labels": int(counts[row]),
            **_cells(of_raters, terms.level, row),
        }
        for row in np.argsort(found.accuracy.values, kind="stable")[:SHOWN].tolist()
    ]
    return {
        "items": ratings.units, "labels": len(ratings), "alpha": found.alpha, "converged": found.converged,
        "rests_on": found.no_errors or _rests_on(terms), "systems": systems, "raters": raters,
    }  # fmt: skip


def _cells(estimates: Mapping[str, Estimates], level: float, *at: int) -> dict[str, Any]:
    """Values in percent, and their intervals, to the digits that resamples tell."""
    intervals = {name: each.interval(*at, level=level) for name, each in estimates.items()}
    return {
        **{name: 100 * float(each.values[at]) for name, each in estimates.items()},
        "intervals": {
            name: {"undefined": each.reason}
            if isinstance(each, Undefined)
            else {"low": round(100 * each.low, 2), "high": round(100 * each.high, 2)}
            for name, each in intervals.items()
        },
    }


def _rests_on(terms: Terms) -> str:
    """What the intervals hold for."""
    cluster, rater = f"{terms.nouns.cluster}s", f"{terms.nouns.rater}s"
    return (
        f"{percent(terms.level)} intervals for other {cluster} with the same {rater}: both models are fitted "
        f"again to {RESAMPLES} resamples of {cluster}."
    )
