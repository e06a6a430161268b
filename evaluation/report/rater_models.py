"""Models of raters of unequal care, beside the labels as counted: Dawid & Skene, and MACE. Pure.

They decide nothing in a report. Both assume that raters err independently of each other once the true answer
is known, so a bias that all raters share looks like the truth.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.questions import Kind, Question, coded_answer, has_choice
from evaluation.rater_agreement.coefficients import krippendorff_alpha
from evaluation.rater_agreement.dawid_skene import dawid_skene
from evaluation.rater_agreement.mace import mace
from evaluation.rater_agreement.ratings import Metric, Ratings, metric_of
from evaluation.report.label_columns import Judged
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray

FEWEST_ITEMS = 50
"""Fewest items with three raters or more: with two, no model can tell who of them errs."""
LEAST_ALPHA = 0.2
"""Smallest agreement: below, the likelihood is nearly flat and its maximum runs to 0 or 100 %."""
MOST_LABELS = 500_000
SHOWN = 20
"""Number of raters to list, those with the lowest accuracy first."""


@dataclass(frozen=True, eq=False)
class ModelledLabels:
    """Answers to one question whose answers have no order.

    Attributes:
        ratings: the answers.
        system: (units,) code of the system of each unit, from 0.
        weight: (units,) how much each unit counts in a share, positive.
    """

    ratings: Ratings
    system: IntArray
    weight: FloatArray


@dataclass(frozen=True, eq=False)
class RaterModels:
    """Both models of the answers to one question.

    Attributes:
        shares: by model, (systems, c) share of each answer; `labels` has the mean over items of the shares of
            their raters.
        accuracy: (raters,) probability of the true answer, by Dawid and Skene's tables, at the prevalences of
            all items.
        competence: (raters,) of MACE.
        alpha: Krippendorff's alpha of the labels.
        converged: true if both fits have.
    """

    shares: dict[str, FloatArray]
    accuracy: FloatArray
    competence: FloatArray
    alpha: float
    converged: bool


def fitted_models(labels: ModelledLabels) -> RaterModels | Undefined:
    """Fit both models, or give the reason why the labels cannot tell the errors of raters.

    Args:
        labels: the answers.
    """
    ratings = labels.ratings
    several = int((ratings.counts.sum(axis=1) > 2).sum())
    if several < FEWEST_ITEMS:
        return Undefined(
            f"Items with three raters or more: {several}; a model of raters needs {FEWEST_ITEMS}, since with "
            "two raters nothing tells which of them errs."
        )
    if len(ratings) > MOST_LABELS:
        return Undefined(f"There are {len(ratings)} labels; the models are fitted up to {MOST_LABELS}.")
    alpha = krippendorff_alpha(ratings)
    if isinstance(alpha, Undefined):
        return alpha
    if alpha < LEAST_ALPHA:
        return Undefined(
            f"Krippendorff's alpha is {alpha:.2f}; below {LEAST_ALPHA} raters agree too little to tell "
            "errors from answers."
        )
    by_tables, by_habits = dawid_skene(ratings, labels.system), mace(ratings)
    if isinstance(by_tables, Undefined):
        return by_tables
    if isinstance(by_habits, Undefined):
        return by_habits
    votes = ratings.counts / ratings.counts.sum(axis=1, keepdims=True)
    found = {"labels": votes, "dawid_skene": by_tables.posterior, "mace": by_habits.posterior}
    prevalence = by_tables.posterior.mean(axis=0)
    return RaterModels(
        {name: _shares(of_units, labels) for name, of_units in found.items()},
        (np.diagonal(by_tables.confusion, axis1=1, axis2=2) * prevalence).sum(axis=1),
        by_habits.competence,
        alpha,
        by_tables.converged and by_habits.converged,
    )


def _shares(of_units: FloatArray, labels: ModelledLabels) -> FloatArray:
    """(systems, c) weighted mean over the units of each system."""
    weight = labels.weight
    sums = [np.bincount(labels.system, weight * column) for column in of_units.T]
    shares: FloatArray = np.column_stack(sums) / np.bincount(labels.system, weight)[:, None]
    return shares


def rater_models(questions: Sequence[Question], judged: Judged) -> list[dict[str, Any]]:
    """Compute both models for each question whose answers have no order.

    Args:
        questions: the questions of a set.
        judged: the labels.

    Returns:
        For each question, or each choice of a question with several, `question`, `key`, maybe `choice`, and
        `undefined` with the reason, or `items`, `labels`, `alpha`, `converged`, `systems` (a row for each
        system and answer with its share in percent: `labels`, `dawid_skene`, `mace`) and `raters` (the ones
        with the lowest accuracy first: `worker`, `labels`, `accuracy`, `competence`). Empty if no item has
        labels of two raters.
    """
    if not judged.shared.any():
        return []
    return [
        {"question": question.wording, "key": question.key, **which, **_stored(of, codes, judged, answers)}
        for question in questions
        for which, of, codes, answers in _asked(question, judged)
    ]


_Asked = tuple[dict[str, str], BoolArray, FloatArray, dict[float, str]]


def _asked(question: Question, judged: Judged) -> Iterator[_Asked]:
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
    answered: BoolArray, codes: FloatArray, judged: Judged, answers: dict[float, str]
) -> dict[str, Any]:
    there = judged.where(answered)
    if not len(there):
        return {"undefined": "Nobody answered."}
    ratings = Ratings.from_columns(there.reply_code, there.rater_code, codes[answered])
    first = np.unique(there.reply_code, return_index=True)[1]
    weight = np.ones(len(first)) if there.weight is None else there.weight[first]
    found = fitted_models(ModelledLabels(ratings, there.bot_code[first], weight))
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    columns = {code: n for n, code in enumerate(ratings.values.tolist())}
    systems = [
        {"bot": bot, "answer": label}
        | {name: 100 * float(shares[system, columns[code]]) for name, shares in found.shares.items()}
        for system, bot in enumerate(there.bots)
        for code, label in answers.items()
        if code in columns
    ]
    names, counts = np.unique(there.rater_code), np.bincount(ratings.rater)
    order = np.argsort(found.accuracy, kind="stable")[:SHOWN].tolist()
    raters = [
        {
            "worker": there.raters[names[row]],
            "labels": int(counts[row]),
            "accuracy": 100 * float(found.accuracy[row]),
            "competence": 100 * float(found.competence[row]),
        }
        for row in order
    ]
    return {
        "items": ratings.units, "labels": len(ratings), "alpha": found.alpha, "converged": found.converged,
        "systems": systems, "raters": raters,
    }  # fmt: skip
