"""A logistic mixed model with random effects of conversations or contexts and of workers.

It supplements the primary test. The log odds of a yes are those of the system plus normal effects of the
context or conversation, of the worker, and of either with a system, if the data can separate them. In the
notation of lme4:
`yes ~ 0 + system + (1 | context) + (1 | context:system) + (1 | worker) + (1 | worker:system)`. The model
is fitted by the Laplace approximation of the likelihood, like lme4's `glmer`. Its odds ratio of two systems
holds for the same worker and context, so it is further from 1 than that of the shares. Intervals allow for
few workers: errors by the restricted likelihood, and the degrees of freedom of the primary test.

Sources: Breslow & Clayton 1993, Journal of the American Statistical Association 88(421); Bates, Mächler,
Bolker & Walker 2015, Journal of Statistical Software 67(1); Barr, Levy, Scheepers & Tily 2013, Journal of
Memory and Language 68(3), on effects of workers that differ between systems.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import scipy

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.differences import Difference
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, coded
from evaluation.statistics.mixed_models.binomial import Likelihood, Observed
from evaluation.statistics.mixed_models.fitting import (
    MOST_CELLS,
    SYSTEM,
    Fit,
    OddsRatio,
    columns,
    estimable,
    maximum,
    restricted_covariance,
)
from evaluation.statistics.mixed_models.laplace import Factor


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
    model, reason = fit(of_systems), "has yes everywhere or nowhere, so its odds are not finite."
    return [of_pair(model, each, level, reason) for each in pairs]


def of_pair(model: Fit | Undefined, pair: Difference, level: float, reason: str) -> OddsRatio | Undefined:
    """Odds ratio of a compared pair; for a system that is not in the model, its name and the reason."""
    if isinstance(model, Undefined):
        return model
    if isinstance(pair.error, Undefined):
        return pair.error
    for name in (pair.first, pair.second):
        if name not in model.systems:
            return Undefined(f"{name} {reason}")
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
    return fitted(tuple(nonempty), observed, is_restricted=True)


def cells(of_systems: Sequence[Sample]) -> Observed | Undefined:
    """Count labels by system, context and rater, and choose the effects that can be estimated."""
    ranked = [coded(codes) for codes in columns(of_systems)]
    numbers = tuple(len(distinct) for distinct, _ in ranked)
    # One number for each cell: to sort a million triples takes ten times as long.
    of_label = np.ravel_multi_index(tuple(ranks for _, ranks in ranked), numbers)
    asked, cell = np.unique(of_label, return_inverse=True)
    if len(asked) > MOST_CELLS:
        return Undefined(
            f"The labels are of {len(asked)} pairs of a conversation or context and a worker; "
            f"the model is fitted up to {MOST_CELLS}."
        )
    yes = np.bincount(cell, np.concatenate([sample.values for sample in of_systems])).astype(np.float64)
    counts = np.bincount(cell).astype(np.float64)
    of_system, of_cluster, of_rater = np.unravel_index(asked, numbers)
    return Observed(yes, counts, of_system, estimable(of_system, of_cluster, of_rater, counts))


def fitted(
    systems: tuple[Hashable, ...], observed: Observed, *, is_restricted: bool = False
) -> Fit | Undefined:
    """Maximise the approximate likelihood over log odds and variances.

    Args:
        systems: names, by code.
        observed: the counts.
        is_restricted: whether the covariance is that of `restricted_covariance`, which allows for few raters;
            else it is that of the curvature of the likelihood, as in glmer.
    """
    shares = np.bincount(observed.system, observed.yes) / np.bincount(observed.system, observed.asked)
    likelihood = Likelihood(observed)
    found = maximum(likelihood, scipy.special.logit(shares))
    if isinstance(found, Undefined):
        return found
    covariance: FloatArray | Undefined = found.covariance
    if is_restricted:
        factors = (*observed.factors, Factor.of(SYSTEM, observed.system))
        flat = Observed(observed.yes, observed.asked, np.zeros_like(observed.system), factors)
        overall = scipy.special.logit([observed.yes.sum() / observed.asked.sum()])
        covariance = restricted_covariance(likelihood, found, Likelihood(flat), overall)
    if isinstance(covariance, Undefined):
        return covariance
    log_odds = found.at[: len(systems)]
    return Fit(systems, log_odds, covariance, found.deviations, found.log_likelihood)
