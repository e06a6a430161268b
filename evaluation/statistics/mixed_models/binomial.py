"""The likelihood of counts of yes with normal effects, as `laplace` approximates it."""

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.mixed_models.laplace import Factor, Laplace


@dataclass(frozen=True, eq=False)
class Observed:
    """Counts of yes.

    Attributes:
        yes: (n,) number of labels of a cell that are yes.
        asked: (n,) number of labels of a cell, positive.
        system: (n,) code of each cell's system, from 0 up.
        factors: kinds of effects, each of which divides the cells in another way.
    """

    yes: FloatArray
    asked: FloatArray
    system: IntArray
    factors: tuple[Factor, ...]


class Likelihood(Laplace):
    """Minus the log-likelihood of log odds of systems and variances of effects, with its gradient.

    The constant binomial coefficients are left out.

    Attributes:
        systems: number of systems.
    """

    def __init__(self, observed: Observed) -> None:
        super().__init__(observed.factors, len(observed.yes))
        self.observed, self.systems = observed, int(observed.system.max()) + 1

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Value and gradient at (systems + kinds,) parameters: log odds, then positive variances."""
        log_odds, variances = np.split(parameters, [self.systems])
        found = self.evaluate(log_odds[self.observed.system], variances)
        by_odds = np.bincount(self.observed.system, found.by_given, self.systems)
        return found.value, np.concatenate([by_odds, found.by_variance])

    def log_density(self, eta: FloatArray) -> float:
        """Log density of all counts, as in `Laplace`."""
        return float((self.observed.yes * eta - self.observed.asked * np.logaddexp(0, eta)).sum())

    def slopes(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the log density, as in `Laplace`."""
        mu = scipy.special.expit(eta)
        return self.observed.yes - self.observed.asked * mu, self.observed.asked * mu * (1 - mu)

    def weight_slope(self, eta: FloatArray) -> FloatArray:
        """Derivative of the weights, as in `Laplace`."""
        mu = scipy.special.expit(eta)
        slope: FloatArray = self.observed.asked * mu * (1 - mu) * (1 - 2 * mu)
        return slope
