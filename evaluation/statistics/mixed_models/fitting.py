"""Choice of effects, and maximum of an approximate likelihood, for both mixed models."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import Sample, t, two_sided_p
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.mixed_models.laplace import Factor, Laplace

LEAST, START, MOST = 1e-6, 0.25, 100.0
"""Lower bound, starting value and upper bound of a variance, in squared logits; at the lower bound it counts
as 0."""
SYSTEM, VAST = "system", 1e3
"""Kind of effect of the systems themselves, and its variance in squared logits, too large to say anything."""
LARGEST = 15.0
"""Largest difference of log odds, and its largest error: beyond, the estimate runs to infinity. Also the
largest half of an interval, a factor of three million: beyond, it says nothing."""
MOST_CELLS, MOST_WORK = 40_000, 3_000_000
"""Largest model: beyond these sizes a fit takes minutes and agrees with the primary test."""


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """Odds ratio of two systems, for the same worker and context.

    Attributes:
        first: name of one system.
        second: name of the other.
        ratio: odds of the first over odds of the second; positive. Of a scale these are the odds of an
            answer above any of its points.
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
        log_odds: (systems,) log odds of a yes for an average worker and context; of a scale, relative to the
            first system.
        covariance: (systems, systems) of the log odds.
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
    ) -> OddsRatio | Undefined:
        """Compare two systems of the model; `Undefined` if their answers do not overlap.

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
        if max(abs(gap), error) > LARGEST:
            return Undefined(
                f"The answers of {first} and {second} do not overlap, so their odds ratio is not finite."
            )
        half = t(freedom, level) * error
        if half > LARGEST:
            return Undefined(
                f"There are too few workers or conversations to tell how far the odds ratio of {first} and "
                f"{second} may be from 1."
            )
        interval = Interval(math.exp(gap - half), math.exp(gap + half), level, "mixed model")
        return OddsRatio(first, second, math.exp(gap), interval, two_sided_p(gap, error, freedom))


def columns(of_systems: Sequence[Sample]) -> tuple[IntArray, IntArray, IntArray]:
    """(n,) codes of the system, the context or conversation, and the rater of all labels."""
    system = np.repeat(np.arange(len(of_systems)), [len(sample) for sample in of_systems])
    cluster = np.concatenate([sample.cluster for sample in of_systems])
    rated = all(sample.rater is not None for sample in of_systems)
    rater = np.concatenate([sample.rater for sample in of_systems]) if rated else np.zeros_like(system)
    return system, cluster, rater


def estimable(system: IntArray, cluster: IntArray, rater: IntArray, counts: FloatArray) -> tuple[Factor, ...]:
    """Choose the effects that the data tell apart.

    Args:
        system: (n,) code of each cell's system, from 0 up.
        cluster: (n,) code of its conversation or context.
        rater: (n,) code of its rater.
        counts: (n,) its number of labels.
    """
    systems = int(system.max()) + 1
    named = (
        ("conversation or context", cluster),
        ("conversation or context with a system", cluster * systems + system),
        ("worker", rater),
        ("worker with a system", rater * systems + system),
    )
    factors: list[Factor] = []
    for name, codes in named:
        factor = Factor.of(name, codes)
        if factor.is_estimable(counts, system) and not any(factor.equals(other) for other in factors):
            factors.append(factor)
    return tuple(factors)


@dataclass(frozen=True, eq=False)
class Maximum:
    """Maximum of an approximate likelihood.

    Attributes:
        at: (fixed + kinds,) parameters: fixed ones, then variances.
        covariance: (fixed, fixed) of the fixed parameters.
        deviations: by kind of effect, its standard deviation; 0 if there is none.
        log_likelihood: by Laplace's approximation.
    """

    at: FloatArray
    covariance: FloatArray
    deviations: Mapping[str, float]
    log_likelihood: float


def maximum(likelihood: Laplace, start: FloatArray) -> Maximum | Undefined:
    """Maximise over fixed parameters and variances.

    Args:
        likelihood: the model.
        start: starting values of the fixed parameters.
    """
    if likelihood.work > MOST_WORK:
        return Undefined("Contexts and workers cross in too many ways for the model to be fitted in time.")
    p, kinds = len(start), likelihood.factors
    at, least = _minimum(likelihood, start, [(LEAST, MOST)] * len(kinds))
    free = [each for each in range(len(at)) if each < p or at[each] > 2 * LEAST]
    covariance = _inverse(_curvature(likelihood, at, free, p))
    if isinstance(covariance, Undefined):
        return covariance
    deviations = {
        kind.name: math.sqrt(variance) if variance > 2 * LEAST else 0.0
        for kind, variance in zip(kinds, at[p:].tolist(), strict=True)
    }
    return Maximum(at, covariance[:p, :p], deviations, -least)


def restricted_covariance(
    likelihood: Laplace, found: Maximum, flat: Laplace, start: FloatArray
) -> FloatArray | Undefined:
    """Covariance of the fixed parameters that allows for few levels of an effect, such as five raters.

    Variances at the maximum of the likelihood are too small, since the systems' log odds were fitted to the
    same levels. Here they maximise the restricted likelihood, from which these log odds are integrated out
    (Harville 1974, Biometrika 61(2); of models like this one Bellio & Brazzale 2011, Statistics and
    Computing 21(2)). The covariance is that of the likelihood's maximum given these variances. With Student's
    t, this is what Elff, Heisig, Schaeffer & Shikano 2021 advise for few clusters (British Journal of
    Political Science 51(1)).

    Args:
        likelihood: the model.
        found: its maximum.
        flat: the same model with one more kind of effect, `SYSTEM`, in place of the systems' log odds.
        start: starting values of the fixed parameters of `flat`.

    Returns:
        (fixed, fixed) of the fixed parameters; `Undefined` if the likelihood has no single peak, or a
        variance runs to infinity.
    """
    if not likelihood.factors:
        return found.covariance
    names = [each.name for each in flat.factors]
    bounds = [(VAST, VAST) if name == SYSTEM else (LEAST, MOST) for name in names]
    of_flat, _ = _minimum(flat, start, bounds)
    variance = dict(zip(names, of_flat[len(start) :].tolist(), strict=True))
    if any(each > 0.99 * MOST for name, each in variance.items() if name != SYSTEM):
        return Undefined(
            "There are too few workers or conversations, each with nearly all answers alike, to tell how far "
            "they differ."
        )
    fixed = len(found.at) - len(likelihood.factors)
    given = [(variance[each.name],) * 2 for each in likelihood.factors]
    at, _ = _minimum(likelihood, found.at[:fixed], given)
    return _inverse(_curvature(likelihood, at, range(fixed), fixed))


def _minimum(
    likelihood: Laplace, start: FloatArray, variances: Sequence[tuple[float, float]]
) -> tuple[FloatArray, float]:
    """Minimise over fixed parameters from their starting values, and variances within these bounds.

    Returns:
        (fixed + kinds,) the parameters, and the value there.
    """
    begin = [min(max(START, low), high) for low, high in variances]
    best = scipy.optimize.minimize(
        likelihood, np.concatenate([start, begin]), jac=True, method="L-BFGS-B",
        bounds=[(-30.0, 30.0)] * len(start) + list(variances),
        options={"ftol": 1e-13, "gtol": 1e-5, "maxiter": 1_000},
    )  # fmt: skip
    return best.x, float(best.fun)


def _inverse(curvature: FloatArray) -> FloatArray | Undefined:
    """Covariance by the curvature at a maximum."""
    if not np.isfinite(curvature).all() or np.linalg.eigvalsh(curvature).min() <= 0:
        return Undefined("The likelihood has no single peak.")
    return np.linalg.inv(curvature).astype(np.float64)


def _curvature(likelihood: Laplace, at: FloatArray, free: Sequence[int], fixed: int) -> FloatArray:
    """Second derivatives of minus the log-likelihood by some parameters, from slopes of the gradient."""
    rows = []
    for parameter in free:
        step = np.zeros_like(at)
        step[parameter] = 1e-4 if parameter < fixed else min(1e-3, at[parameter] / 2)
        rows.append((likelihood(at + step)[1] - likelihood(at - step)[1])[list(free)] / (2 * step[parameter]))
    hessian = np.array(rows)
    return np.asarray((hessian + hessian.T) / 2)
