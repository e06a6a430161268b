"""A cumulative logit mixed model of answers on a scale, with random effects as in `logistic`.

The answer is above point k of the scale with log odds of β(system) - θ(k) plus normal effects of the context
or conversation, of the worker, and of either with a system, if the data can separate them (proportional
odds: McCullagh 1980, Journal of the Royal Statistical Society B 42(2)). Only the order of answers counts, not
the distances between them. Laplace's approximation of the likelihood, as in clmm of R's package ordinal.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.differences import Difference
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.mixed_models.fitting import (
    MOST_CELLS,
    SYSTEM,
    Fit,
    Maximum,
    OddsRatio,
    columns,
    estimable,
    maximum,
    restricted_covariance,
)
from evaluation.statistics.mixed_models.laplace import Factor, Laplace
from evaluation.statistics.mixed_models.logistic import of_pair

MOST_POINTS = 20
"""Largest number of distinct answers; beyond it there are too many thresholds."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Answers on a scale.

    Attributes:
        answer: (n,) code of each answer, from 0 up in the order of the scale; each code occurs.
        design: (n, p) covariates; the thresholds take the place of a constant.
        factors: kinds of effects, each of which divides the answers in another way.
    """

    answer: IntArray
    design: FloatArray
    factors: tuple[Factor, ...]

    @property
    def points(self) -> int:
        """Number of distinct answers."""
        return int(self.answer.max()) + 1


class OrdinalLikelihood(Laplace):
    """Minus the log-likelihood of thresholds, slopes and variances, with its gradient.

    Attributes:
        answers: the data.
    """

    def __init__(self, answers: Answers) -> None:
        super().__init__(answers.factors, len(answers.answer))
        self.answers = answers
        self._ends = np.full((2, len(answers.answer)), np.nan)

    def thresholds(self, parameters: FloatArray) -> FloatArray:
        """(points - 1,) rising thresholds: the first, then the logarithms of the steps."""
        steps = np.exp(parameters[1 : self.answers.points - 1])
        return np.concatenate([parameters[:1], parameters[0] + np.cumsum(steps)])

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at thresholds (as in `thresholds`), slopes (p,), and positive variances."""
        k, p = self.answers.points - 1, self.answers.design.shape[1]
        thresholds, (_, slopes, variances) = self.thresholds(parameters), np.split(parameters, [k, k + p])
        padded = np.concatenate([[-np.inf], thresholds, [np.inf]])
        self._ends = np.stack([padded[self.answers.answer], padded[self.answers.answer + 1]])
        found = self.evaluate(self.answers.design @ slopes, variances)
        by_threshold = self._by_thresholds(found.eta, found.leverage, found.moved)
        above = np.cumsum(by_threshold[::-1])[::-1]
        by_step = np.diff(thresholds) * above[1:]
        by_slope = self.answers.design.T @ found.by_given
        return found.value, np.concatenate([above[:1], by_step, by_slope, found.by_variance])

    def _by_thresholds(self, eta: FloatArray, leverage: FloatArray, moved: FloatArray) -> FloatArray:
        """(points - 1,) derivative of minus the log-likelihood by each threshold."""
        log_chance = self._log_chances(eta)
        found = np.zeros(self.answers.points + 1)
        for end, sign in ((0, 1.0), (1, -1.0)):
            x = self._ends[end] - eta
            share, log_density = scipy.special.expit(x), -np.logaddexp(0, x) - np.logaddexp(0, -x)
            density = np.exp(log_density)
            each = sign * np.exp(log_density - log_chance)
            each += density * (1 - 2 * share) * leverage / 2 + density * moved
            found += np.bincount(self.answers.answer + end, each, self.answers.points + 1)
        return found[1:-1]

    def _log_chances(self, eta: FloatArray) -> FloatArray:
        """(n,) log probability of each answer, exact in the tails."""
        low, high = self._ends - eta
        # F(high) - F(low) = (1 - exp(low - high)) F(high) (1 - F(low)).
        found: FloatArray = np.log1p(-np.exp(low - high)) - np.logaddexp(0, -high) - np.logaddexp(0, low)
        return found

    def log_density(self, eta: FloatArray) -> float:
        """Log density of all answers, as in `Laplace`."""
        return float(self._log_chances(eta).sum())

    def slopes(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the log density, as in `Laplace`."""
        low, high = scipy.special.expit(self._ends - eta)
        return low + high - 1, low * (1 - low) + high * (1 - high)

    def weight_slope(self, eta: FloatArray) -> FloatArray:
        """Derivative of the weights, as in `Laplace`."""
        shares = scipy.special.expit(self._ends - eta)
        slope: FloatArray = -(shares * (1 - shares) * (1 - 2 * shares)).sum(axis=0)
        return slope


@dataclass(frozen=True, eq=False)
class OrdinalFit:
    """A fitted model.

    Attributes:
        thresholds: (points - 1,) log odds, of an answer up to each point, where all covariates are 0.
        slopes: (p,) change of the log odds of a higher answer by each covariate.
        covariance: (p, p) of the slopes, as `fitted` says.
        deviations: by kind of effect, its standard deviation in logits; 0 if there is none.
        log_likelihood: by Laplace's approximation.
    """

    thresholds: FloatArray
    slopes: FloatArray
    covariance: FloatArray
    deviations: Mapping[str, float]
    log_likelihood: float


def fitted(answers: Answers, system: IntArray | None = None) -> OrdinalFit | Undefined:
    """Maximise the approximate likelihood over thresholds, slopes and variances.

    Args:
        answers: of three points or more, or of two.
        system: (n,) code of each answer's system, if the covariates are indicators of systems. The covariance
            is then that of `restricted_covariance`, which allows for few raters; else it is that of the
            curvature of the likelihood, as in clmm.
    """
    k, p = answers.points - 1, answers.design.shape[1]
    below = np.cumsum(np.bincount(answers.answer))[:-1] / len(answers.answer)
    thresholds = scipy.special.logit(below)
    start = np.concatenate([thresholds[:1], np.log(np.diff(thresholds)), np.zeros(p)])
    likelihood = OrdinalLikelihood(answers)
    found: Maximum | Undefined = maximum(likelihood, start)
    if isinstance(found, Undefined):
        return found
    covariance: FloatArray | Undefined = found.covariance
    if system is not None:
        nothing = np.empty((len(system), 0))
        flat = Answers(answers.answer, nothing, (*answers.factors, Factor.of(SYSTEM, system)))
        covariance = restricted_covariance(likelihood, found, OrdinalLikelihood(flat), start[:k])
    if isinstance(covariance, Undefined):
        return covariance
    return OrdinalFit(
        likelihood.thresholds(found.at), found.at[k : k + p], covariance[k:, k:], found.deviations,
        found.log_likelihood,
    )  # fmt: skip


def cumulative_odds_ratios(
    of_systems: Mapping[Hashable, Sample], pairs: Sequence[Difference], *, level: float = LEVEL
) -> list[OddsRatio | Undefined]:
    """Odds ratio of a higher answer for each compared pair of systems, from one model of all systems.

    Args:
        of_systems: the samples of answers on a scale that `differences` compared.
        pairs: the result of `differences`, whose degrees of freedom are used.
        level: nominal coverage of each interval, in (0, 1).

    Returns:
        One odds ratio for each of `pairs`, in that order.
    """
    model, reason = fit(of_systems), "has only the lowest or only the highest answer."
    return [of_pair(model, each, level, reason) for each in pairs]


def fit(of_systems: Mapping[Hashable, Sample]) -> Fit | Undefined:
    """Fit the model to answers on a scale.

    Args:
        of_systems: by name, numbers whose order counts; codes of contexts and raters mean the same in all
            samples. A system with the lowest answer everywhere, or the highest, is left out.

    Returns:
        The fit, with log odds relative to the first system in it, or the reason why there is none.
    """
    nonempty = {name: sample for name, sample in of_systems.items() if len(sample)}
    if any(sample.weight is not None for sample in nonempty.values()):
        return Undefined("The model is of labels that count alike.")
    values = np.concatenate([sample.values for sample in nonempty.values()] or [np.empty(0)])
    if len(values) > MOST_CELLS:
        return Undefined(f"There are {len(values)} labels; the model is fitted up to {MOST_CELLS}.")
    nonempty = {
        name: sample
        for name, sample in nonempty.items()
        if not (sample.is_alike and sample.value in (values.min(), values.max()))
    }
    if len(nonempty) < 2:
        return Undefined("Fewer than two systems have answers that differ.")
    of_all = list(nonempty.values())
    points, answer = np.unique(np.concatenate([sample.values for sample in of_all]), return_inverse=True)
    if not 2 < len(points) <= MOST_POINTS:
        return Undefined(f"There are {len(points)} different answers; the model needs 3 to {MOST_POINTS}.")
    system, cluster, rater = columns(of_all)
    factors = estimable(system, cluster, rater, np.ones(len(system)))
    found = fitted(Answers(answer, np.eye(len(of_all))[system][:, 1:], factors), system)
    if isinstance(found, Undefined):
        return found
    covariance = np.zeros((len(of_all), len(of_all)))
    covariance[1:, 1:] = found.covariance
    log_odds = np.concatenate([[0.0], found.slopes])
    return Fit(tuple(nonempty), log_odds, covariance, found.deviations, found.log_likelihood)
