"""Scores that are a value over a size: many of them summed, paired and divided at once.

A value and its size travel as one complex number, so that both are summed and dealt together.

Permutation tests of "both bots are alike", for many pairs of bots at once.

Sources: Efron & Tibshirani 1993, chapter 15; Phipson & Smyth 2010, Statistical Applications in Genetics and
Molecular Biology 9(1) (p-values of random permutations are never zero).
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from evaluation.statistics.bootstrap import RESAMPLES, Ratio
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.resampling import blocks

Pair: TypeAlias = tuple[int, int]
ComplexArray: TypeAlias = NDArray[np.complex128]


def value_and_size(rows: FloatArray, ratio: Ratio) -> FloatArray:
    """Numerator and denominator of a ratio.

    Args:
        rows: (k, m) sums of k clusters.
        ratio: which of them are added, and which counts.

    Returns:
        (k, 2) values and sizes.
    """
    return np.column_stack([rows @ np.asarray(ratio.weights), rows[:, ratio.size]])


def pack(columns: FloatArray) -> ComplexArray:
    """Complex numbers (…) of values and sizes (…, 2)."""
    return columns[..., 0] + 1j * columns[..., 1]


def score(sums: ComplexArray) -> FloatArray:
    """Value over size.

    Args:
        sums: (…) as `pack` gives them, perhaps added up.

    Returns:
        (…) ratios; NaN where the size is 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.real(sums) / np.imag(sums), dtype=np.float64)


def common(table: FloatArray, pairs: Sequence[Pair]) -> tuple[ComplexArray, ComplexArray]:
    """Twice (contexts, p): the first and the second bot of each of p pairs where both have labels, else 0.

    Args:
        table: (contexts, bots, 2) value and size; size 0 where a bot has no label in a context.
        pairs: indices of bots.
    """
    left, right = np.asarray(pairs).T
    of_bots = pack(table)
    both = (table[:, left, 1] > 0) & (table[:, right, 1] > 0)
    return np.where(both, of_bots[:, left], 0), np.where(both, of_bots[:, right], 0)


def weighted(weights: FloatArray, columns: ComplexArray) -> ComplexArray:
    """Sums (r, p) of rows (k, p) with real weights (r, k)."""
    return weights @ columns.real + 1j * (weights @ columns.imag)


LEAST_BUNDLES = 128
"""Fewest bundles of conversations of one bot: 2 · 128 leave a t test with 254 degrees of freedom."""
_ROOM_FOR_ORDERS = 1 << 20


def permutation(
    rows: Sequence[FloatArray], pairs: Sequence[Pair], rng: Generator, permutations: int = RESAMPLES
) -> FloatArray:
    """Two-sided p-values: conversations are dealt to the two bots of each pair at random.

    Assumes under the null hypothesis that conversations are exchangeable between the bots; a label-level
    test would ignore that turns of a conversation belong together. Where both bots have many conversations,
    they are tied into bundles of equal number at random and whole bundles are dealt, which is exact under
    the same hypothesis; the bundles left are so many (`LEAST_BUNDLES`) that the test loses next to nothing.

    Args:
        rows: for each bot, (k, 2) value and size of each conversation; its score is Σ value / Σ size.
        pairs: p pairs of indices into `rows`.
        rng: seeded generator.
        permutations: number of random dealings.

    Returns:
        (p,) p-values, never 0.
    """
    by_bundle: dict[int, list[int]] = {}
    for index, (a, b) in enumerate(pairs):
        by_bundle.setdefault(_bundle(min(len(rows[a]), len(rows[b]))), []).append(index)
    p_values = np.empty(len(pairs))
    for bundle, indices in sorted(by_bundle.items()):
        bots, number = np.unique([pairs[index] for index in indices], return_inverse=True)
        tied = [_tied(rows[bot], bundle, rng) for bot in bots.tolist()]
        p_values[indices] = _dealt(tied, number.reshape(-1, 2), rng, permutations)
    return p_values


def _bundle(conversations: int) -> int:
    """How many conversations are dealt together: of two binary digits, so that bots of like number agree."""
    most = max(1, conversations // LEAST_BUNDLES)
    rest = max(0, most.bit_length() - 2)
    return most >> rest << rest


def _tied(rows: FloatArray, bundle: int, rng: Generator) -> tuple[ComplexArray, complex]:
    """Sums of random bundles of a bot's conversations, and of the few that are left over and stay with it."""
    packed, rest = rng.permutation(pack(rows)), len(rows) % bundle
    return packed[rest:].reshape(-1, bundle).sum(axis=1), complex(packed[:rest].sum())


def _dealt(
    tied: Sequence[tuple[ComplexArray, complex]], pairs: IntArray, rng: Generator, permutations: int
) -> FloatArray:
    """(p,) p-values of pairs (p, 2) of bots by their bundles.

    One random order of each bot's bundles serves all its pairs: how many of the first bot's stay with it is
    hypergeometric, and which ones, the first of that order.
    """
    left, right = pairs.T
    packed = [_halved(bundles) for bundles, _ in tied]
    lengths = np.array([len(bundles) for bundles in packed])
    starts = np.concatenate([[0], np.cumsum(lengths + 1)])[:-1]
    kept = np.array([rest for _, rest in tied])
    totals = kept + np.array([bundles.sum(dtype=np.complex128) for bundles in packed])
    observed, both = score(totals[left]) - score(totals[right]), totals[left] + totals[right]
    numbers, kind = np.unique(lengths[pairs], axis=0, return_inverse=True)
    own, others = numbers.T
    ranges = list(blocks(permutations, int(lengths.sum()), _ROOM_FOR_ORDERS))
    prefix = np.zeros((ranges[0][1], int((lengths + 1).sum())), dtype=np.complex128)
    extreme = np.zeros(len(pairs))
    for start, stop in ranges:
        for begin, values in zip(starts, packed, strict=True):
            shuffled = rng.permuted(np.broadcast_to(values, (stop - start, len(values))), axis=1)
            np.cumsum(shuffled, axis=1, out=prefix[: stop - start, begin + 1 : begin + 1 + len(values)])
        drawn = rng.hypergeometric(own, others, own, size=(stop - start, len(numbers)))
        stay = drawn[:, kind.ravel()]
        dealt = kept[left] + np.take_along_axis(prefix[: stop - start], starts[left] + stay, axis=1)
        dealt += np.take_along_axis(prefix[: stop - start], starts[right] + lengths[left] - stay, axis=1)
        extreme += _as_extreme(score(dealt) - score(both - dealt), observed)
    return (1 + extreme) / (1 + permutations)


def _halved(bundles: ComplexArray) -> ComplexArray | NDArray[np.complex64]:
    """The same numbers in single precision, which shuffles twice as fast, if it holds them exactly.

    It holds counts and halves; thirds it would round, and equal differences would no longer be equal.
    """
    single = bundles.astype(np.complex64)
    return single if (single == bundles).all() else bundles


def paired_permutation(
    table: FloatArray, pairs: Sequence[Pair], rng: Generator, permutations: int = RESAMPLES
) -> FloatArray:
    """Two-sided p-values: in each context the two bots of a pair are swapped with probability 1/2.

    Args:
        table: (contexts, bots, 2) value and size; size 0 where a bot has no label in a context. A pair is
            compared on the contexts that both have.
        pairs: p pairs of bots.
        rng: seeded generator.
        permutations: number of random swaps.

    Returns:
        (p,) p-values, never 0.
    """
    first, second = common(table, pairs)
    total_first, total_second = first.sum(axis=0), second.sum(axis=0)
    observed = score(total_first) - score(total_second)
    gain = second - first
    extreme = np.zeros(len(pairs))
    for start, stop in blocks(permutations, len(table)):
        swapped = rng.integers(0, 2, size=(stop - start, len(table)), dtype=np.int8).astype(np.float64)
        moved = weighted(swapped, gain)
        extreme += _as_extreme(score(total_first + moved) - score(total_second - moved), observed)
    return (1 + extreme) / (1 + permutations)


def _as_extreme(permuted: FloatArray, observed: FloatArray) -> FloatArray:
    """(p,) how many of the (r, p) differences are as large as the observed ones (p,), in either direction."""
    # Sums in another order differ in the last bits; equal differences must count as equal.
    return np.asarray((np.abs(permuted) >= np.abs(observed) - 1e-12).sum(axis=0), dtype=np.float64)
