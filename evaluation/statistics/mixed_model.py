"""A logistic mixed model with random effects of conversations or contexts and of workers.

It supplements the primary test. The log odds of a yes are those of the system plus normal effects of the
context or conversation, of the worker, and of either with a system, if the data can separate them. In the
notation of lme4:
`yes ~ 0 + system + (1 | context) + (1 | context:system) + (1 | worker) + (1 | worker:system)`. The model
is fitted by the Laplace approximation of the likelihood, like lme4's `glmer`. Its odds ratio of two systems
holds for the same worker and context, so it is further from 1 than that of the shares. Intervals have the
degrees of freedom of the primary test, which allow for few workers.

Sources: Breslow & Clayton 1993, Journal of the American Statistical Association 88(421); Bates, Mächler,
Bolker & Walker 2015, Journal of Statistical Software 67(1); Barr, Levy, Scheepers & Tily 2013, Journal of
Memory and Language 68(3), on effects of workers that differ between systems.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.differences import Difference
from evaluation.statistics.inference import Sample, t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.laplace import Factor, Likelihood, Observed

LEAST, START, MOST = 1e-6, 0.25, 100.0
"""Lower bound, starting value and upper bound of a variance, in squared logits; at the lower bound it counts
as 0."""
MOST_CELLS, MOST_WORK = 40_000, 3_000_000
"""Largest model: beyond these sizes a fit takes minutes and agrees with the primary test."""


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """Odds ratio of yes of two systems, for the same worker and context.

    Attributes:
        first: name of one system.
        second: name of the other.
        ratio: odds of the first over odds of the second; positive.
        interval: interval of the ratio, by Student's t on its logarithm.
        p: two-sided p-value of "the ratio is 1".
    """

    first: Hashable
    second: Hashable
    ratio: float
    interval: Interval
    p: float


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted model.

    Attributes:
        systems: names of the systems.
        log_odds: (systems,) log odds of a yes for an average worker and context.
        covariance: (systems, systems) of the log odds, from the curvature of the likelihood.
        deviations: by kind of effect, its standard deviation in logits; 0 if there is none.
        log_likelihood: by Laplace's approximation.
    """

    systems: tuple[Hashable, ...]
    log_odds: FloatArray
    covariance: FloatArray
    deviations: Mapping[str, float]
    log_likelihood: float

    def odds_ratio(
        self, first: Hashable, second: Hashable, *, freedom: float, level: float = LEVEL
    ) -> OddsRatio:
        """Compare two systems of the model.

        Args:
            first: one of `systems`.
            second: another.
            freedom: degrees of freedom of the interval, positive: those of the primary test.
            level: nominal coverage, in (0, 1).

        Raises:
            ValueError: a system that is not in the model.
        """
        a, b = (self.systems.index(each) for each in (first, second))
        gap = float(self.log_odds[a] - self.log_odds[b])
        error = math.sqrt(float(self.covariance[a, a] + self.covariance[b, b] - 2 * self.covariance[a, b]))
        half = t(freedom, level) * error
        interval = Interval(math.exp(gap - half), math.exp(gap + half), level, "mixed model")
        p = float(2 * scipy.special.stdtr(freedom, -abs(gap) / error))
        return OddsRatio(first, second, math.exp(gap), interval, p)


def odds_ratios(
    of_systems: Mapping[Hashable, Sample], pairs: Sequence[Difference], *, level: float = LEVEL
) -> list[OddsRatio | Undefined]:
    """Odds ratio of each compared pair of systems, from one model of all systems.

    Args:
        of_systems: the samples that `differences` compared.
        pairs: the result of `differences`, whose degrees of freedom are used.
        level: nominal coverage of each interval, in (0, 1).

    Returns:
        One odds ratio for each of `pairs`, in that order.
    """
    model = fit(of_systems)
    return [_of_pair(model, each, level) for each in pairs]


def _of_pair(model: Fit | Undefined, pair: Difference, level: float) -> OddsRatio | Undefined:
    if isinstance(model, Undefined):
        return model
    if isinstance(pair.error, Undefined):
        return pair.error
    for name in (pair.first, pair.second):
        if name not in model.systems:
            return Undefined(f"{name} has yes everywhere or nowhere, so its odds are not finite.")
    return model.odds_ratio(pair.first, pair.second, freedom=pair.freedom, level=level)


def fit(of_systems: Mapping[Hashable, Sample]) -> Fit | Undefined:
    """Fit the model to yes-or-no labels.

    Args:
        of_systems: by name, labels of 0 and 1; codes of contexts and raters mean the same in all samples. A
            system with yes everywhere or nowhere is left out.

    Returns:
        The fit, or the reason why there is none.
    """
    nonempty = {name: sample for name, sample in of_systems.items() if len(sample)}
    if not all(sample.is_binary for sample in nonempty.values()):
        return Undefined("The answers are not yes or no.")
    if any(sample.weight is not None for sample in nonempty.values()):
        return Undefined("The model is of labels that count alike.")
    nonempty = {name: sample for name, sample in nonempty.items() if 0 < sample.value < 1}
    if len(nonempty) < 2:
        return Undefined("Fewer than two systems have both yes and no.")
    observed = cells(list(nonempty.values()))
    if isinstance(observed, Undefined):
        return observed
    return fitted(tuple(nonempty), observed)


def cells(of_systems: Sequence[Sample]) -> Observed | Undefined:
    """Count labels by system, context and rater, and choose the effects that can be estimated."""
    system = np.repeat(np.arange(len(of_systems)), [len(sample) for sample in of_systems])
    cluster = np.concatenate([sample.cluster for sample in of_systems])
    rated = all(sample.rater is not None for sample in of_systems)
    rater = np.concatenate([sample.rater for sample in of_systems]) if rated else np.zeros_like(system)
    rows, cell = np.unique(np.stack([system, cluster, rater]), axis=1, return_inverse=True)
    if rows.shape[1] > MOST_CELLS:
        return Undefined(
            f"The labels are of {rows.shape[1]} pairs of a conversation or context and a worker; "
            f"the model is fitted up to {MOST_CELLS}."
        )
    yes = np.bincount(cell, np.concatenate([sample.values for sample in of_systems])).astype(np.float64)
    counts = np.bincount(cell).astype(np.float64)
    of_system, of_cluster, of_rater = rows
    named = (
        ("conversation or context", of_cluster),
        ("conversation or context with a system", of_cluster * len(of_systems) + of_system),
        ("worker", of_rater),
        ("worker with a system", of_rater * len(of_systems) + of_system),
    )
    factors: list[Factor] = []
    for name, codes in named:
        factor = Factor.of(name, codes)
        if factor.is_estimable(counts, of_system) and not any(factor.equals(other) for other in factors):
            factors.append(factor)
    return Observed(yes, counts, of_system, tuple(factors))


def fitted(systems: tuple[Hashable, ...], observed: Observed) -> Fit | Undefined:
    """Maximise the approximate likelihood over log odds and variances.

    Args:
        systems: names, by code.
        observed: the counts.
    """
    likelihood = Likelihood(observed)
    if likelihood.work > MOST_WORK:
        return Undefined("Contexts and workers cross in too many ways for the model to be fitted in time.")
    p, kinds = len(systems), likelihood.factors
    shares = np.bincount(observed.system, observed.yes) / np.bincount(observed.system, observed.asked)
    start = np.concatenate([scipy.special.logit(shares), np.full(len(kinds), START)])
    bounds = [(-30.0, 30.0)] * p + [(LEAST, MOST)] * len(kinds)
    best = scipy.optimize.minimize(
        likelihood, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-13, "gtol": 1e-5}
    )
    free = [parameter for parameter in range(len(start)) if parameter < p or best.x[parameter] > 2 * LEAST]
    curvature = _curvature(likelihood, best.x, free)
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
        return Undefined("The likelihood has no single peak.")
    deviations = {
        kind.name: math.sqrt(variance) if variance > 2 * LEAST else 0.0
        for kind, variance in zip(kinds, best.x[p:].tolist(), strict=True)
    }
    covariance = np.linalg.inv(curvature)[:p, :p].astype(np.float64)
    return Fit(systems, best.x[:p], covariance, deviations, -float(best.fun))


def _curvature(likelihood: Likelihood, at: FloatArray, free: Sequence[int]) -> FloatArray:
    """Second derivatives of minus the log-likelihood by some parameters, from differences of the gradient."""
    rows = []
    for parameter in free:
        step = np.zeros_like(at)
        step[parameter] = 1e-4 if parameter < likelihood.systems else min(1e-3, at[parameter] / 2)
        rows.append((likelihood(at + step)[1] - likelihood(at - step)[1])[list(free)] / (2 * step[parameter]))
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
