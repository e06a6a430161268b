"""The likelihood of counts of yes with crossed and nested normal effects, by Laplace's approximation.

Minus the log-likelihood is f(û) + log det(H) / 2, where f is minus the log of the joint density of counts and
standardised effects u, û its minimum, and H its curvature there (Tierney & Kadane 1986, Journal of the
American Statistical Association 81(393)). Kinds of effects nested in each other, such as responses in their
context, are eliminated one after the other, each with a diagonal; only kinds that cross these are left as a
dense matrix. Gradients are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy

from evaluation.statistics.labels import FloatArray, IntArray

STEPS = 200
CLOSE = 1e-12
"""A step that promises f to fall by less than this is the last."""


@dataclass(frozen=True, eq=False)
class Factor:
    """One kind of effect.

    Attributes:
        name: what it is of.
        level: (n,) code of each cell's level, from 0 up.
        levels: how many there are.
    """

    name: str
    level: IntArray
    levels: int

    @classmethod
    def of(cls, name: str, codes: IntArray) -> Factor:
        """A factor with a level for each distinct code.

        Args:
            name: what its effects are of.
            codes: (n,) of the cells; any numbers.
        """
        ids, level = np.unique(codes, return_inverse=True)
        return cls(name, level.astype(np.int64), len(ids))

    def is_nested_in(self, other: Factor) -> bool:
        """Whether all cells of a level of this one are of one level of the other."""
        return len(np.unique(self.level * other.levels + other.level)) == self.levels

    def equals(self, other: Factor) -> bool:
        """Whether both divide the cells alike."""
        return self.levels == other.levels and self.is_nested_in(other)

    def is_told(self, asked: FloatArray, system: IntArray) -> bool:
        """Whether the data tell its variance: a level has several labels, and a system several levels.

        Args:
            asked: (n,) labels of each cell, positive.
            system: (n,) code of its system, from 0 up.
        """
        systems = int(system.max()) + 1
        pairs = len(np.unique(self.level * systems + system))
        return bool(np.bincount(self.level, asked).max() > 1) and pairs > systems


@dataclass(frozen=True, eq=False)
class Observed:
    """Counts of yes.

    Attributes:
        yes: (n,) how many labels of a cell are yes.
        asked: (n,) how many there are, positive.
        system: (n,) code of its system, from 0 up.
        factors: kinds of effects, no two of which divide the cells alike.
    """

    yes: FloatArray
    asked: FloatArray
    system: IntArray
    factors: tuple[Factor, ...]


class _Eliminated:
    """H by kinds of effects, the nested ones eliminated; see `Likelihood` for the order.

    Attributes:
        diagonal: for each nested kind, (levels,) what is left of its diagonal.
        inverse: (m, m) inverse of what is left of the other kinds.
        log_det: of H.
    """

    def __init__(self, shape: _Shape, weight: FloatArray, sigma: FloatArray) -> None:
        """Build H = 1 + ΛZ'WZΛ of weights W (n,) and standard deviations (kinds,), and eliminate."""
        self.shape, nested = shape, range(len(shape.nested))
        sums = [np.bincount(each.level, weight, each.levels) for each in shape.nested]
        self.diagonal = [1 + sigma[s] ** 2 * sums[s] for s in nested]
        self.up = {(s, r): sigma[s] * sigma[r] * sums[s] for s, r in shape.above}
        self.across = [shape.across(s, weight, sigma) for s in nested]
        left = shape.crossed(weight, sigma)
        for s in nested:
            part = self.across[s].multiply(1 / self.diagonal[s][:, None]).tocsr()
            left = left - (part.T @ self.across[s]).toarray()
            for r in range(s + 1, len(nested)):
                self._take_out(s, r, part)
        factor = scipy.linalg.cholesky(left, lower=True) if len(left) else left
        self.inverse = scipy.linalg.cho_solve((factor, True), np.eye(len(left))) if len(left) else left
        self.log_det = 2 * float(np.log(np.diag(factor)).sum()) + sum(
            float(np.log(each).sum()) for each in self.diagonal
        )

    def _take_out(self, s: int, r: int, part: scipy.sparse.csr_array) -> None:
        """Take kind s out of the rows of kind r, in which it is nested."""
        of, levels = self.shape.above[s, r], self.shape.nested[r].levels
        scaled = self.up[s, r] / self.diagonal[s]
        self.diagonal[r] = self.diagonal[r] - np.bincount(of, scaled * self.up[s, r], levels)
        for further in range(r + 1, len(self.shape.nested)):
            self.up[r, further] = self.up[r, further] - np.bincount(of, scaled * self.up[s, further], levels)
        gather = scipy.sparse.csr_array((self.up[s, r], (of, np.arange(len(of)))), shape=(levels, len(of)))
        self.across[r] = (self.across[r] - gather @ part).tocsr()

    def solve(self, given: Sequence[FloatArray]) -> list[FloatArray]:
        """H⁻¹ of a vector, by kind: the nested ones, then all others as one."""
        x, last = [each.copy() for each in given], len(self.diagonal)
        for s, of_kind in enumerate(self.diagonal):
            scaled = x[s] / of_kind
            for r in range(s + 1, last):
                x[r] -= np.bincount(self.shape.above[s, r], scaled * self.up[s, r], len(x[r]))
            x[last] -= self.across[s].T @ scaled
        x[last] = self.inverse @ x[last]
        for s in reversed(range(last)):
            x[s] -= self.across[s] @ x[last]
            for r in range(s + 1, last):
                x[s] -= self.up[s, r] * x[r][self.shape.above[s, r]]
            x[s] /= self.diagonal[s]
        return x

    def towards(self, start: int, given: Sequence[float]) -> tuple[FloatArray, scipy.sparse.csr_array]:
        """For each level of nested kind `start`, the vector with given[s] at itself and all above it.

        Returns:
            (levels,) what these vectors have of a' H⁻¹ a in the nested kinds, and (levels, m) what is taken
            from their part in the other kinds.
        """
        x: dict[int, FloatArray] = {}
        levels = self.shape.nested[start].levels
        square, taken = np.zeros(levels), scipy.sparse.csr_array((levels, self.shape.dense))
        for s in range(start, len(self.diagonal)):
            at = self.shape.above[start, s] if s > start else np.arange(levels)
            x[s] = np.full(levels, float(given[s]))
            for r in range(start, s):
                below = self.shape.above[start, r] if r > start else np.arange(levels)
                x[s] -= x[r] * self.up[r, s][below] / self.diagonal[r][below]
            share = x[s] / self.diagonal[s][at]
            square += x[s] * share
            taken = (taken + self.across[s][at].multiply(share[:, None])).tocsr()
        return square, taken

    def inverse_traces(self) -> list[float]:
        """Trace of H⁻¹ over each kind."""
        found = []
        for start in range(len(self.diagonal)):
            unit = [float(s == start) for s in range(len(self.diagonal))]
            square, taken = self.towards(start, unit)
            found.append(float(square.sum()) + float(taken.multiply(taken @ self.inverse).sum()))
        diagonal = np.diag(self.inverse)
        return found + [float(diagonal[a:b].sum()) for a, b in self.shape.spans]

    def leverages(self, sigma: FloatArray) -> FloatArray:
        """(n,) z'ΛH⁻¹Λz of each cell: the variance of its effects, given the counts."""
        shape = self.shape
        columns = [(shape.column[k], sigma[len(shape.nested) + k]) for k in range(len(shape.others))]
        found = np.zeros(shape.cells)
        if shape.nested:
            square, taken = self.towards(0, sigma[: len(shape.nested)].tolist())
            first = shape.nested[0].level
            through = taken @ self.inverse
            found += (square + np.asarray(taken.multiply(through).sum(axis=1)).ravel())[first]
            for column, deviation in columns:
                found -= 2 * deviation * through[first, column]
        for one, deviation in columns:
            for two, other in columns:
                found += deviation * other * self.inverse[one, two]
        return found


class _Shape:
    """Which kinds are nested, finest first, and which cross them.

    Attributes:
        nested: kinds of which each lies in the next.
        above: by an index of `nested` and a later one, (levels,) which level of the later one each lies in.
        others: all other kinds.
        column: for each of the others, (n,) its column among all their levels.
        spans: first column of each of the others, and the one behind its last.
        dense: how many levels the others have together.
        cells: n.
    """

    def __init__(self, observed: Observed) -> None:
        left = sorted(observed.factors, key=lambda each: -each.levels)
        self.nested: list[Factor] = []
        self.others: list[Factor] = []
        for each in left:
            fits = not self.nested or (not self.others and self.nested[-1].is_nested_in(each))
            (self.nested if fits else self.others).append(each)
        self.above = {}
        for s, fine in enumerate(self.nested):
            for r in range(s + 1, len(self.nested)):
                of = np.zeros(fine.levels, np.int64)
                of[fine.level] = self.nested[r].level
                self.above[s, r] = of
        ends = np.cumsum([0, *(each.levels for each in self.others)]).tolist()
        self.spans = list(pairwise(ends))
        self.column = [a + each.level for (a, _), each in zip(self.spans, self.others, strict=True)]
        self.dense, self.cells = ends[-1], len(observed.yes)

    @property
    def factors(self) -> list[Factor]:
        return [*self.nested, *self.others]

    def across(self, s: int, weight: FloatArray, sigma: FloatArray) -> scipy.sparse.csr_array:
        """(levels, m) what nested kind s shares with the others."""
        level, shape = self.nested[s].level, (self.nested[s].levels, self.dense)
        if not self.others:
            return scipy.sparse.csr_array(shape)
        scales = sigma[len(self.nested) :]
        values = np.concatenate([sigma[s] * scale * weight for scale in scales])
        entries = (np.tile(level, len(scales)), np.concatenate(self.column))
        return scipy.sparse.csr_array((values, entries), shape=shape)

    def crossed(self, weight: FloatArray, sigma: FloatArray) -> FloatArray:
        """(m, m) 1 + ΛZ'WZΛ of the others."""
        found, scales = np.eye(self.dense), sigma[len(self.nested) :]
        for one, a in zip(self.column, scales, strict=True):
            for two, b in zip(self.column, scales, strict=True):
                cells = one * self.dense + two
                found += np.bincount(cells, a * b * weight, self.dense**2).reshape(found.shape)
        return found


class Likelihood:
    """Minus the log-likelihood of log odds of systems and variances of effects, and its gradient.

    Constant factors, the numbers of ways to choose the yeses, are left out.

    Attributes:
        systems: how many systems there are.
        factors: kinds of effects, in the order of their variances.
        work: what one evaluation needs, in numbers to be stored.
    """

    def __init__(self, observed: Observed) -> None:
        self.observed, self._shape = observed, _Shape(observed)
        self.systems, self.factors = int(observed.system.max()) + 1, self._shape.factors
        first = self.factors[0].levels if self.factors else 0
        self.work = self._shape.dense * max(first, self._shape.dense)
        # The minimum of the evaluation before is close to that of the next.
        self._u = [np.zeros(each.levels) for each in self.factors]
        self._curvature: _Eliminated | None = None

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """The value and its gradient at (systems + kinds,) log odds and positive variances."""
        log_odds, variances = np.split(parameters, [self.systems])
        sigma = np.sqrt(variances)
        given = log_odds[self.observed.system]
        value = self._minimise(given, sigma)
        mu, weight = self._moments(given, sigma)
        found = self._curvature = _Eliminated(self._shape, weight, sigma)
        rest = self.observed.yes - self.observed.asked * mu
        third = weight * (1 - 2 * mu) * found.leverages(sigma) / 2
        v = self._split(found.solve(self._joined(self._summed(third, sigma))))
        pull = third - weight * self._spread(v, sigma)
        by_odds = np.bincount(self.observed.system, pull - rest, self.systems)
        traces, plain = found.inverse_traces(), self._summed(rest, np.ones_like(sigma))
        by_sigma = [
            plain[k] @ (v[k] - self._u[k])
            + (each.levels - traces[k]) / sigma[k]
            + pull @ self._u[k][each.level]
            for k, each in enumerate(self.factors)
        ]
        by_variance = np.array(by_sigma) / (2 * sigma) if by_sigma else np.empty(0)
        return value + found.log_det / 2, np.concatenate([by_odds, by_variance])

    def _minimise(self, given: FloatArray, sigma: FloatArray) -> float:
        """Move the effects to the minimum of f.

        Newton's method, with the curvature of the evaluation before as long as that brings each step closer
        than a quarter of the last, and with steps halved where f would rise.
        """
        value, last = self._f(given, sigma, self._u), np.inf
        for _ in range(STEPS):
            mu, weight = self._moments(given, sigma)
            summed = self._summed(self.observed.yes - self.observed.asked * mu, sigma)
            slope = [each - up for each, up in zip(self._u, summed, strict=True)]
            if self._curvature is None:
                self._curvature = _Eliminated(self._shape, weight, sigma)
            step = self._split(self._curvature.solve(self._joined(slope)))
            promised = sum(float(a @ b) for a, b in zip(slope, step, strict=True))
            if promised > last / 16:
                self._curvature, last = None, np.inf
                continue
            scale, last = 1.0, promised
            while True:
                moved = [each - scale * by for each, by in zip(self._u, step, strict=True)]
                reached = self._f(given, sigma, moved)
                if reached <= value + 1e-10 * abs(value) or scale < 1e-6:
                    break
                scale /= 2
            self._u, value = moved, reached
            if promised < CLOSE:
                break
        return value

    def _f(self, given: FloatArray, sigma: FloatArray, u: Sequence[FloatArray]) -> float:
        eta = given + self._spread(u, sigma)
        seen = self.observed
        fits = seen.yes * eta - seen.asked * np.logaddexp(0, eta)
        return float(sum(float(each @ each) for each in u) / 2 - fits.sum())

    def _moments(self, given: FloatArray, sigma: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) chances of a yes, and variances of the counts."""
        mu = scipy.special.expit(given + self._spread(self._u, sigma))
        return mu, self.observed.asked * mu * (1 - mu)

    def _spread(self, u: Sequence[FloatArray], sigma: FloatArray) -> FloatArray:
        """ZΛu: the effects of each cell together."""
        found = np.zeros(self._shape.cells)
        for each, deviation, own in zip(self.factors, sigma, u, strict=True):
            found += deviation * own[each.level]
        return found

    def _summed(self, x: FloatArray, sigma: FloatArray) -> list[FloatArray]:
        """ΛZ'x, by kind."""
        return [
            deviation * np.bincount(each.level, x, each.levels)
            for each, deviation in zip(self.factors, sigma, strict=True)
        ]

    def _joined(self, by_kind: Sequence[FloatArray]) -> list[FloatArray]:
        """The nested kinds, and all others as one."""
        nested = len(self._shape.nested)
        return [*by_kind[:nested], np.concatenate([np.empty(0), *by_kind[nested:]])]

    def _split(self, joined: Sequence[FloatArray]) -> list[FloatArray]:
        """By kind again."""
        return [*joined[:-1], *(joined[-1][a:b] for a, b in self._shape.spans)]
