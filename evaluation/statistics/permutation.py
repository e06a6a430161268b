"""Permutation tests of "both bots are alike", for many pairs of bots at once.

A score is a value over a size. Both are packed into one complex number, so that they are summed and permuted
together.

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
        ratio: weights of the numerator and column of the denominator.

    Returns:
        (k, 2) values and sizes.
    """
    return np.column_stack([rows @ np.asarray(ratio.weights), rows[:, ratio.size]])


def pack(columns: FloatArray) -> ComplexArray:
    """Pack values and sizes (…, 2) into complex numbers (…)."""
    return columns[..., 0] + 1j * columns[..., 1]


def score(sums: ComplexArray) -> FloatArray:
    """Divide values by sizes.

    Args:
        sums: (…) numbers from `pack`, or sums of such numbers.

    Returns:
        (…) ratios; NaN where the size is 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.real(sums) / np.imag(sums), dtype=np.float64)


def common(table: FloatArray, pairs: Sequence[Pair]) -> tuple[ComplexArray, ComplexArray]:
    """Values of the first and of the second bot of each of p pairs in the contexts that both have, else 0.

    Args:
        table: (contexts, bots, 2) value and size; size 0 where a bot has no label in a context.
        pairs: indices of bots.

    Returns:
        Two arrays (contexts, p).
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
    """Compute two-sided p-values by assigning conversations to the two bots of each pair at random.

    The null hypothesis is that conversations are exchangeable between the bots; a label-level test would
    ignore that turns of a conversation belong together. If both bots have many conversations, random bundles
    of equal size are permuted instead. That is exact under the same hypothesis, and with `LEAST_BUNDLES` the
    test loses next to no power.

    Args:
        rows: for each bot, (k, 2) value and size of each conversation; its score is Σ value / Σ size.
        pairs: p pairs of indices into `rows`.
        rng: seeded generator.
        permutations: number of random permutations.

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
    """Size of a bundle, rounded down to two binary digits so that bots of similar size share one."""
    most = max(1, conversations // LEAST_BUNDLES)
    rest = max(0, most.bit_length() - 2)
    return most >> rest << rest


def _tied(rows: FloatArray, bundle: int, rng: Generator) -> tuple[ComplexArray, complex]:
    """Sums of random bundles of a bot's conversations, and of the leftover ones, which stay with the bot."""
    packed, rest = rng.permutation(pack(rows)), len(rows) % bundle
    return packed[rest:].reshape(-1, bundle).sum(axis=1), complex(packed[:rest].sum())


def _dealt(
    tied: Sequence[tuple[ComplexArray, complex]], pairs: IntArray, rng: Generator, permutations: int
) -> FloatArray:
    """(p,) p-values of pairs (p, 2) of bots, from their bundles.

    One random order of each bot's bundles serves all its pairs. The number of bundles that stay with the
    first bot is hypergeometric; the first ones in that order stay.
    """
    left, right = pairs.T
    packed = [_halved(bundles) for bundles, _ in tied]
    lengths = np.array([len(bundles) for bundles in packed])
    starts = np.concatenate([[0], np.cumsum(lengths + 1)])[:-1]
    rest_counts = np.array([rest for _, rest in tied])
    totals = rest_counts + np.array([bundles.sum(dtype=np.complex128) for bundles in packed])
    observed, both = score(totals[left]) - score(totals[right]), totals[left] + totals[right]
    numbers, kind = np.unique(lengths[pairs], axis=0, return_inverse=True)
    first, others = numbers.T
    ranges = list(blocks(permutations, int(lengths.sum()), _ROOM_FOR_ORDERS))
    prefix = np.zeros((ranges[0][1], int((lengths + 1).sum())), dtype=np.complex128)
    extreme = np.zeros(len(pairs))
    for start, stop in ranges:
        for begin, values in zip(starts, packed, strict=True):
            shuffled = rng.permuted(np.broadcast_to(values, (stop - start, len(values))), axis=1)
            np.cumsum(shuffled, axis=1, out=prefix[: stop - start, begin + 1 : begin + 1 + len(values)])
        drawn = rng.hypergeometric(first, others, first, size=(stop - start, len(numbers)))
        stay = drawn[:, kind.ravel()]
        dealt = rest_counts[left] + np.take_along_axis(prefix[: stop - start], starts[left] + stay, axis=1)
        dealt += np.take_along_axis(prefix[: stop - start], starts[right] + lengths[left] - stay, axis=1)
        extreme += _as_extreme(score(dealt) - score(both - dealt), observed)
    return (1 + extreme) / (1 + permutations)


def _halved(bundles: ComplexArray) -> ComplexArray | NDArray[np.complex64]:
    """Convert to single precision, which shuffles twice as fast, if that is exact.

    Counts and halves are exact. Thirds would be rounded, and equal differences would become unequal.
    """
    single = bundles.astype(np.complex64)
    return single if (single == bundles).all() else bundles


def paired_permutation(
    table: FloatArray, pairs: Sequence[Pair], rng: Generator, permutations: int = RESAMPLES
) -> FloatArray:
    """Compute two-sided p-values by swapping the two bots of a pair in each context with probability 1/2.

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
    """(p,) number of the (r, p) differences at least as large as the observed (p,), in either direction."""
    # Sums in another order differ in the last bits; equal differences must count as equal.
    return np.asarray((np.abs(permuted) >= np.abs(observed) - 1e-12).sum(axis=0), dtype=np.float64)
