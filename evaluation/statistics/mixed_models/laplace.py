"""Likelihoods with crossed and nested normal effects, by Laplace's approximation.

Minus the log-likelihood is f(û) + log det(H) / 2, where f is minus the log of the joint density of labels and
standardised effects u, û its minimum, and H its curvature there (Tierney & Kadane 1986, Journal of the
American Statistical Association 81(393)). Kinds of effects nested in each other, such as responses in their
context, are eliminated one after the other, each with a diagonal; only kinds that cross these are left as a
dense matrix. Gradients are exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import scipy

from evaluation.statistics.labels import FloatArray, IntArray

STEPS = 200
CLOSE = 1e-12
"""Newton's method stops when a step is expected to lower f by less than this."""
DENSE_WORK = 2_000_000
"""Blocks whose products need no more multiplications are dense: to make a sparse array takes longer."""


@dataclass(frozen=True, eq=False)
class Factor:
    """One kind of random effect.

    Attributes:
        name: what has the effects, such as "worker".
        level: (n,) code of each cell's level, from 0 up.
        levels: number of levels.
    """

    name: str
    level: IntArray
    levels: int

    @classmethod
    def of(cls, name: str, codes: IntArray) -> Factor:
        """Make a factor with a level for each distinct code.

        Args:
            name: what the levels are, such as raters.
            codes: (n,) code of each cell; any numbers.
        """
        ids, level = np.unique(codes, return_inverse=True)
        return cls(name, level.astype(np.int64), len(ids))

    def is_nested_in(self, other: Factor) -> bool:
        """True if all cells of a level of this factor share one level of the other."""
        return len(np.unique(self.level * other.levels + other.level)) == self.levels

    def equals(self, other: Factor) -> bool:
        """True if both factors divide the cells in the same way."""
        return self.levels == other.levels and self.is_nested_in(other)

    def is_estimable(self, counts: FloatArray, system: IntArray) -> bool:
        """True if the variance can be estimated: some level has several labels, some system several levels.

        Args:
            counts: (n,) number of labels of each cell, positive.
            system: (n,) code of each cell's system, from 0 up.
        """
        systems = int(system.max()) + 1
        pairs = len(np.unique(self.level * systems + system))
        return bool(np.bincount(self.level, counts).max() > 1) and pairs > systems


_Block: TypeAlias = "FloatArray | scipy.sparse.csr_array"  # a string: servers start without SciPy's parts


def _scaled(block: _Block, by: FloatArray) -> _Block:
    """Multiply each row of a block."""
    if isinstance(block, np.ndarray):
        return block * by[:, None]
    return block.multiply(by[:, None]).tocsr()


def _product_sums(block: _Block, other: FloatArray) -> FloatArray:
    """(rows,) sums of the products of elements."""
    products = block * other if isinstance(block, np.ndarray) else block.multiply(other)
    return np.asarray(products.sum(axis=1), np.float64).ravel()


class _Eliminated:
    """The matrix H by kinds of effects, with the nested kinds eliminated; see `Likelihood` for the order.

    Attributes:
        diagonal: for each nested kind, (levels,) its diagonal after elimination.
        inverse: (m, m) inverse of the block of the other kinds after elimination.
        log_det: log of the determinant of H.
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
            part = _scaled(self.across[s], 1 / self.diagonal[s])
            product = part.T @ self.across[s]
            left = left - (product if isinstance(product, np.ndarray) else product.toarray())
            for r in range(s + 1, len(nested)):
                self._take_out(s, r, part)
        factor = scipy.linalg.cholesky(left, lower=True) if len(left) else left
        self.inverse = scipy.linalg.cho_solve((factor, True), np.eye(len(left))) if len(left) else left
        self.log_det = 2 * float(np.log(np.diag(factor)).sum()) + sum(
            float(np.log(each).sum()) for each in self.diagonal
        )

    def _take_out(self, s: int, r: int, part: _Block) -> None:
        """Eliminate kind s from the rows of kind r, in which it is nested."""
        of, levels = self.shape.above[s, r], self.shape.nested[r].levels
        scaled = self.up[s, r] / self.diagonal[s]
        self.diagonal[r] = self.diagonal[r] - np.bincount(of, scaled * self.up[s, r], levels)
        for further in range(r + 1, len(self.shape.nested)):
            self.up[r, further] = self.up[r, further] - np.bincount(of, scaled * self.up[s, further], levels)
        gather = scipy.sparse.csr_array((self.up[s, r], (of, np.arange(len(of)))), shape=(levels, len(of)))
        self.across[r] = self.across[r] - gather @ part

    def solve(self, given: Sequence[FloatArray]) -> list[FloatArray]:
        """Multiply H⁻¹ with a vector, given by kind: the nested kinds, then all others as one."""
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

    def solve_path(self, start: int, given: Sequence[float]) -> tuple[FloatArray, _Block]:
        """Solve for the vector a of each level of nested kind `start`: given[s] at it and all levels above.

        Returns:
            (levels,) the part of a' H⁻¹ a from the nested kinds, and (levels, m) the part subtracted from the
            vector in the other kinds.
        """
        x: dict[int, FloatArray] = {}
        levels = self.shape.nested[start].levels
        square, taken = np.zeros(levels), self.shape.nothing(levels)
        for s in range(start, len(self.diagonal)):
            at = self.shape.above[start, s] if s > start else np.arange(levels)
            x[s] = np.full(levels, float(given[s]))
            for r in range(start, s):
                below = self.shape.above[start, r] if r > start else np.arange(levels)
                x[s] -= x[r] * self.up[r, s][below] / self.diagonal[r][below]
            share = x[s] / self.diagonal[s][at]
            square += x[s] * share
            taken = taken + _scaled(self.across[s][at], share)
        return square, taken

    def inverse_traces(self) -> list[float]:
        """Trace of H⁻¹ over each kind."""
        traces = []
        for start in range(len(self.diagonal)):
            unit = [float(s == start) for s in range(len(self.diagonal))]
            square, taken = self.solve_path(start, unit)
            traces.append(float(square.sum()) + float(_product_sums(taken, taken @ self.inverse).sum()))
        diagonal = np.diag(self.inverse)
        return traces + [float(diagonal[a:b].sum()) for a, b in self.shape.spans]

    def leverages(self, sigma: FloatArray) -> FloatArray:
        """(n,) z'ΛH⁻¹Λz of each cell: the variance of its effects, given the counts."""
        shape = self.shape
        columns = [(shape.column[k], sigma[len(shape.nested) + k]) for k in range(len(shape.others))]
        values = np.zeros(shape.cells)
        if shape.nested:
            square, taken = self.solve_path(0, sigma[: len(shape.nested)].tolist())
            first = shape.nested[0].level
            through = taken @ self.inverse
            values += (square + _product_sums(taken, through))[first]
            for column, deviation in columns:
                values -= 2 * deviation * through[first, column]
        for one, deviation in columns:
            for two, other in columns:
                values += deviation * other * self.inverse[one, two]
        return values


class _Shape:
    """Structure of the effects: nested kinds, finest first, and kinds that cross them.

    Attributes:
        nested: kinds, each nested in the next.
        above: by an index of `nested` and a later one, (levels,) the level of the later kind above each
            level.
        others: all other kinds.
        column: for each of the others, (n,) column of each cell among all their levels.
        spans: for each of the others, its first column and the column after its last.
        dense: total number of levels of the others.
        is_small: true if blocks between nested kinds and the others are dense arrays.
        cells: number of cells n.
    """

    def __init__(self, factors: Sequence[Factor], cells: int) -> None:
        left = sorted(factors, key=lambda each: -each.levels)
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
        self.dense, self.cells = ends[-1], cells
        finest = self.nested[0].levels if self.nested else 0
        self.is_small = finest * self.dense**2 <= DENSE_WORK

    @property
    def factors(self) -> list[Factor]:
        return [*self.nested, *self.others]

    def nothing(self, levels: int) -> _Block:
        """(levels, m) block of zeros."""
        shape = (levels, self.dense)
        return np.zeros(shape) if self.is_small else scipy.sparse.csr_array(shape)

    def across(self, s: int, weight: FloatArray, sigma: FloatArray) -> _Block:
        """(levels, m) block of H between nested kind s and the others."""
        level, shape = self.nested[s].level, (self.nested[s].levels, self.dense)
        if not self.others:
            return self.nothing(shape[0])
        scales = sigma[len(self.nested) :]
        values = np.concatenate([sigma[s] * scale * weight for scale in scales])
        if self.is_small:
            cells = np.concatenate([level * self.dense + column for column in self.column])
            return np.bincount(cells, values, shape[0] * shape[1]).reshape(shape)
        entries = (np.tile(level, len(scales)), np.concatenate(self.column))
        return scipy.sparse.csr_array((values, entries), shape=shape)

    def crossed(self, weight: FloatArray, sigma: FloatArray) -> FloatArray:
        """(m, m) block 1 + ΛZ'WZΛ of the others."""
        matrix, scales = np.eye(self.dense), sigma[len(self.nested) :]
        for one, a in zip(self.column, scales, strict=True):
            for two, b in zip(self.column, scales, strict=True):
                cells = one * self.dense + two
                matrix += np.bincount(cells, a * b * weight, self.dense**2).reshape(matrix.shape)
        return matrix


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Minus the log-likelihood at one point, with what its gradient needs.

    Attributes:
        value: minus the log-likelihood.
        eta: (n,) linear predictor of each cell, with the effects at their minimum.
        by_given: (n,) derivative by the fixed part of each cell's linear predictor.
        by_variance: (kinds,) derivative by each variance.
        leverage: (n,) variance of each cell's effects, given the labels.
        moved: (n,) how the minimum of the effects moves log det(H) / 2: by the derivative of a cell's slope.
    """

    value: float
    eta: FloatArray
    by_given: FloatArray
    by_variance: FloatArray
    leverage: FloatArray
    moved: FloatArray


class Laplace(ABC):
    """Minus the log-likelihood of labels with normal effects, with its gradient.

    A subclass has the fixed parameters, and the log density of labels as a function of the linear predictor.

    Attributes:
        factors: kinds of effects, in the order of their variances.
        work: memory of one evaluation, in stored numbers.
    """

    def __init__(self, factors: Sequence[Factor], cells: int) -> None:
        self._shape = _Shape(factors, cells)
        self.factors = self._shape.factors
        first = self.factors[0].levels if self.factors else 0
        self.work = self._shape.dense * max(first, self._shape.dense)
        # Start each evaluation at the minimum of the last one, which is close.
        self._u = [np.zeros(each.levels) for each in self.factors]
        self._curvature: _Eliminated | None = None

    @abstractmethod
    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log-likelihood, and its gradient, at fixed parameters followed by positive variances."""

    @abstractmethod
    def log_density(self, eta: FloatArray) -> float:
        """Log density of all labels at the linear predictor (n,)."""

    @abstractmethod
    def slopes(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) first derivative of each cell's log density by its linear predictor, and minus the second."""

    @abstractmethod
    def weight_slope(self, eta: FloatArray) -> FloatArray:
        """(n,) derivative of minus the second derivative: minus the third."""

    def evaluate(self, given: FloatArray, variances: FloatArray) -> Evaluated:
        """Evaluate at the fixed part (n,) of the linear predictors and positive variances (kinds,)."""
        sigma = np.sqrt(variances)
        value = self._minimise(given, sigma)
        eta = given + self._spread(self._u, sigma)
        rest, weight = self.slopes(eta)
        eliminated = self._curvature = _Eliminated(self._shape, weight, sigma)
        leverage = eliminated.leverages(sigma)
        third = self.weight_slope(eta) * leverage / 2
        v = self._split(eliminated.solve(self._joined(self._summed(third, sigma))))
        moved = self._spread(v, sigma)
        pull = third - weight * moved
        traces, plain = eliminated.inverse_traces(), self._summed(rest, np.ones_like(sigma))
        by_sigma = [
            plain[k] @ (v[k] - self._u[k])
            + (each.levels - traces[k]) / sigma[k]
            + pull @ self._u[k][each.level]
            for k, each in enumerate(self.factors)
        ]
        by_variance = np.array(by_sigma) / (2 * sigma) if by_sigma else np.empty(0)
        return Evaluated(value + eliminated.log_det / 2, eta, pull - rest, by_variance, leverage, moved)

    def _minimise(self, given: FloatArray, sigma: FloatArray) -> float:
        """Move the effects to the minimum of f.

        Newton's method. It reuses the curvature of the last evaluation as long as each step is below a
        quarter of the step before, and halves steps where f would rise.
        """
        value, last = self._f(given, sigma, self._u), np.inf
        for _ in range(STEPS):
            rest, weight = self.slopes(given + self._spread(self._u, sigma))
            summed = self._summed(rest, sigma)
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
        fits = self.log_density(given + self._spread(u, sigma))
        return float(sum(float(each @ each) for each in u) / 2 - fits)

    def _spread(self, u: Sequence[FloatArray], sigma: FloatArray) -> FloatArray:
        """ZΛu: sum of the effects of each cell."""
        effects = np.zeros(self._shape.cells)
        for each, deviation, of_factor in zip(self.factors, sigma, u, strict=True):
            effects += deviation * of_factor[each.level]
        return effects

    def _summed(self, x: FloatArray, sigma: FloatArray) -> list[FloatArray]:
        """ΛZ'x, by kind."""
        return [
            deviation * np.bincount(each.level, x, each.levels)
            for each, deviation in zip(self.factors, sigma, strict=True)
        ]

    def _joined(self, by_kind: Sequence[FloatArray]) -> list[FloatArray]:
        """Join the vectors of all kinds that are not nested."""
        nested = len(self._shape.nested)
        return [*by_kind[:nested], np.concatenate([np.empty(0), *by_kind[nested:]])]

    def _split(self, joined: Sequence[FloatArray]) -> list[FloatArray]:
        """Split what `_joined` joined into kinds."""
        return [*joined[:-1], *(joined[-1][a:b] for a, b in self._shape.spans)]
