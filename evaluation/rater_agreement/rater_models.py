"""Models of raters of unequal care: Dawid & Skene, and MACE, with errors by a bootstrap over conversations.

Both assume that raters err independently of each other once the true answer is known, so a bias that all
raters share looks like the truth. The bootstrap (Davison & Hinkley 1997, Bootstrap Methods and their
Application, section 3.8) draws whole conversations or contexts and fits both models again, from the first
fit: errors are those for other conversations with the same raters.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evaluation.rater_agreement import dawid_skene, mace
from evaluation.rater_agreement.coefficients import krippendorff_alpha
from evaluation.rater_agreement.dawid_skene import TrueAnswers
from evaluation.rater_agreement.mace import Competence
from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.bootstrap import LARGEST_UNDEFINED_SHARE, LEVEL
from evaluation.statistics.inference import interval_within, t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.resampling import blocks

FEWEST_ITEMS = 50
"""Fewest items with three raters or more: with two, no model can tell who of them errs."""
LEAST_ALPHA = 0.2
"""Smallest agreement: below, the likelihood is nearly flat and its maximum runs to 0 or 100 %."""
MOST_LABELS = 500_000
MOST_RESAMPLED = 50_000
"""Largest number of labels of which the models are fitted again to resamples, which takes some seconds."""
RESAMPLES = 200
LEAST_COUNT = 0.5
"""An estimate of fewer units or labels than this, or of all but so few, lies at the end of its scale."""
ACCURACY, COMPETENCE = "accuracy", "competence"
_BLOCK = 2_000_000
"""Numbers of labels and answers that are fitted at once."""


@dataclass(frozen=True, eq=False)
class ModelledLabels:
    """Answers to one question whose answers have no order.

    Attributes:
        ratings: the answers.
        system: (units,) code of the system of each unit, from 0.
        weight: (units,) how much each unit counts in a share, positive.
        cluster: (units,) code of the conversation or context of each unit, from 0.
    """

    ratings: Ratings
    system: IntArray
    weight: FloatArray
    cluster: IntArray


@dataclass(frozen=True, eq=False)
class Estimates:
    """Shares or probabilities with their errors.

    Attributes:
        values: in [0, 1], a row for each system or rater.
        errors: standard errors of the same shape; NaN if resamples do not tell them.
        clusters: (rows,) number of conversations or contexts of each row.
        sizes: (rows,) number of units or labels of each row.
    """

    values: FloatArray
    errors: FloatArray
    clusters: IntArray
    sizes: IntArray

    def interval(self, *at: int, level: float = LEVEL) -> Interval | Undefined:
        """Interval of one value by Student's t on its logit, so that it stays within 0 and 1.

        Args:
            at: index of the value.
            level: nominal coverage, in (0, 1).
        """
        value, error, clusters = float(self.values[at]), float(self.errors[at]), int(self.clusters[at[0]])
        if clusters < 2:
            return Undefined("All labels are of one conversation or context; an interval needs 2.")
        if min(value, 1 - value) * int(self.sizes[at[0]]) < LEAST_COUNT:
            return Undefined("It lies at the end of its scale, where resamples hardly vary.")
        if not error > 0:  # NaN as well
            return Undefined("Resamples do not tell how uncertain it is.")
        return interval_within(value, t(clusters - 1, level) * error, 0.0, 1.0, level)


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
        no_errors: why all errors are NaN; empty if they are not.
    """

    shares: dict[str, Estimates]
    accuracy: Estimates
    competence: Estimates
    alpha: float
    converged: bool
    no_errors: str


def fitted_models(labels: ModelledLabels, rng: Generator) -> RaterModels | Undefined:
    """Fit both models, or give the reason why the labels cannot tell the errors of raters.

    Args:
        labels: the answers.
        rng: seeded generator of the resamples; the same seed and labels give the same errors.
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
    by_tables, by_habits = (
        dawid_skene.dawid_skene(ratings, labels.system),
        mace.mace(ratings, labels.system),
    )
    if isinstance(by_tables, Undefined):
        return by_tables
    if isinstance(by_habits, Undefined):
        return by_habits
    values = _figures(
        labels, np.ones((ratings.units, 1)), by_tables.posterior[:, None], by_tables.confusion[:, None],
        by_habits.posterior[:, None], by_habits.competence[:, None],
    )  # fmt: skip
    found = {name: each[..., 0] for name, each in values.items()}
    of_systems, of_raters = _clusters(labels)
    of_system, of_rater = np.bincount(labels.system), np.bincount(ratings.rater, minlength=ratings.raters)
    too_many = len(ratings) > MOST_RESAMPLED
    resampled = {} if too_many else _resampled(labels, by_tables, by_habits, rng)
    estimates = {}
    for name, each in found.items():
        clusters, sizes = (of_raters, of_rater) if each.ndim == 1 else (of_systems, of_system)
        errors = _errors(each, resampled.get(name), clusters)
        estimates[name] = Estimates(each, errors, clusters, sizes)
    return RaterModels(
        {name: each for name, each in estimates.items() if each.values.ndim > 1},
        estimates[ACCURACY],
        estimates[COMPETENCE],
        alpha,
        by_tables.converged and by_habits.converged,
        f"There are {len(ratings)} labels; intervals are computed up to {MOST_RESAMPLED}."
        if too_many
        else "",
    )


def _figures(
    labels: ModelledLabels,
    times: FloatArray,
    by_tables: FloatArray,
    confusion: FloatArray,
    by_habits: FloatArray,
    competence: FloatArray,
) -> dict[str, FloatArray]:
    """Shares (systems, c, r), accuracies and competences (raters, r); NaN for what has no labels.

    Args:
        labels: the answers.
        times: (units, r) how often each unit counts in each of r fits.
        by_tables: (units, r, c) posteriors of Dawid and Skene.
        confusion: (raters, r, c, c) their tables.
        by_habits: (units, r, c) posteriors of MACE.
        competence: (raters, r) of MACE.
    """
    ratings = labels.ratings
    votes = (ratings.counts / ratings.counts.sum(axis=1, keepdims=True))[:, None]
    counted = labels.weight[:, None] * times
    sums = _summed(labels.system, counted)[:, None]
    prevalence = np.einsum("urc,ur->rc", by_tables, times) / times.sum(axis=0)[:, None]
    has_labels = _summed(ratings.rater, times[ratings.unit]) > 0
    accuracy = np.einsum("wrcc,rc->wr", confusion, prevalence)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = {
            name: np.stack(
                [_summed(labels.system, counted * column) for column in np.moveaxis(of_units, 2, 0)], axis=1
            )
            / sums
            for name, of_units in (("labels", votes), ("dawid_skene", by_tables), ("mace", by_habits))
        }
    return {
        **shares,
        ACCURACY: np.where(has_labels, accuracy, np.nan),
        COMPETENCE: np.where(has_labels, competence, np.nan),
    }


def _resampled(
    labels: ModelledLabels, by_tables: TrueAnswers, by_habits: Competence, rng: Generator
) -> dict[str, FloatArray]:
    """The figures of all resamples of conversations, each with both models fitted again."""
    ratings = labels.ratings
    clusters = int(labels.cluster.max()) + 1
    drawn: list[dict[str, FloatArray]] = []
    for first, last in blocks(RESAMPLES, len(ratings) * len(ratings.values), _BLOCK):
        counts = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=last - first)
        times = counts.T[labels.cluster].astype(np.float64)
        tables = dawid_skene.refitted(by_tables, ratings, labels.system, times)
        habits = mace.refitted(by_habits, ratings, labels.system, times)
        drawn.append(
            _figures(labels, times, tables.posterior, tables.confusion, habits.posterior, habits.competence)
        )
    return {name: np.concatenate([each[name] for each in drawn], axis=-1) for name in drawn[0]}


def _errors(values: FloatArray, resampled: FloatArray | None, clusters: IntArray) -> FloatArray:
    """Standard deviations over resamples (…, r), for draws from few clusters; NaN if many lack a value."""
    if resampled is None:
        return np.full_like(values, np.nan)
    lost = np.isnan(resampled).mean(axis=-1) > LARGEST_UNDEFINED_SHARE
    deviation = np.std(np.where(lost[..., None], 0.0, resampled), axis=-1, where=~np.isnan(resampled))
    # Resamples of g clusters vary by (g - 1) / g less than draws from all.
    factor = np.sqrt(clusters / np.maximum(clusters - 1, 1))
    return np.where(lost, np.nan, deviation * (factor[:, None] if values.ndim > 1 else factor))


def _clusters(labels: ModelledLabels) -> tuple[IntArray, IntArray]:
    """Number of clusters of each system, and of each rater."""
    size = int(labels.cluster.max()) + 1
    rater, unit = labels.ratings.rater, labels.ratings.unit
    of_systems = np.unique(labels.system * size + labels.cluster) // size
    of_raters = np.unique(rater * size + labels.cluster[unit]) // size
    return np.bincount(of_systems), np.bincount(of_raters, minlength=labels.ratings.raters)


def _summed(code: IntArray, values: FloatArray) -> FloatArray:
    """(codes, r) sums of rows (n, r) by code."""
    return np.column_stack([np.bincount(code, column) for column in values.T])
