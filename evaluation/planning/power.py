"""Planning: power of a comparison, the number of units it needs, and the smallest difference it tells.

A label is the sum of its system's mean and independent effects: of the context, of the context with the
system, of the worker, of the worker with the system, and the rest. A conversation is its own context, so its
effect counts in the rest. The design decides how often each effect enters the difference of two means. The
power is that of the t test of `differences`. Sources: Searle, Casella & McCulloch 1992, Variance Components,
chapter 4 (expected sums of products); Cohen 1988, chapter 2 (noncentral t); Angelopoulos, Duchi & Zrnic 2023
(PPI++, arXiv:2311.01453), section 6 (variance with a judge).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import scipy

from evaluation.statistics.interval import Undefined

MOST_UNITS = 10_000_000


class Allocation(StrEnum):
    """Allocation of the systems to the labels of one worker."""

    RANDOM = "random"
    """Each label has a system by chance; what a worker's labels share partly cancels."""
    BALANCED = "balanced"
    """Each worker has each system equally often."""
    ONE_SYSTEM = "one system"
    """Each worker has one system only."""
    PREFERENCE = "preference"
    """A label is a choice between the two systems; its mean is compared with one half."""


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of the effects in a label, each in the square of the score's unit.

    Attributes:
        context: of contexts that several systems answer.
        context_by_system: of a context with one system.
        worker: of workers, whatever the system.
        worker_by_system: of a worker with one system.
        rest: of what remains.
    """

    context: float
    context_by_system: float
    worker: float
    worker_by_system: float
    rest: float

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name}={value} is no variance; give a number of 0 or more.")
        if self.total <= 0:
            raise ValueError("A plan needs variance: all effects are 0. Give the spread of the scores.")

    @property
    def total(self) -> float:
        """Variance of a single label of a system."""
        return self.context + self.context_by_system + self.worker + self.worker_by_system + self.rest

    @classmethod
    def from_shares(
        cls,
        deviation: float,
        *,
        worker: float = 0.0,
        worker_by_system: float = 0.0,
        context: float = 0.0,
        context_by_system: float = 0.0,
    ) -> "Components":
        """Split the variance of a label by shares.

        Args:
            deviation: standard deviation of a label, or of a conversation's score, in the score's unit.
            worker: share of the variance that workers explain, whatever the system, in [0, 1].
            worker_by_system: share of workers with a system, likewise.
            context: share of contexts, likewise.
            context_by_system: share of contexts with a system, likewise.

        Raises:
            ValueError: a deviation of 0 or less, or shares that are negative or exceed 1 together.
        """
        if not (math.isfinite(deviation) and deviation > 0):
            raise ValueError(
                f"deviation={deviation} must be positive: a plan needs the spread of the scores."
            )
        shares = (context, context_by_system, worker, worker_by_system)
        if not all(0 <= share <= 1 for share in shares) or sum(shares) > 1 + 1e-9:
            raise ValueError(
                f"The shares {', '.join(f'{share:g}' for share in shares)} must each lie in [0, 1] and be at "
                f"most 1 together; they are parts of one variance."
            )
        parts = [share * deviation**2 for share in (*shares, max(0.0, 1 - sum(shares)))]
        return cls(*parts)


@dataclass(frozen=True, slots=True)
class Design:
    """Properties of a study that do not depend on its size.

    Attributes:
        per_worker: labels, or conversations, of each worker, over all systems.
        per_context: labels of each context and system; 1 for conversations.
        systems: number of systems that a worker's labels are spread over; of preferences, all their pairs.
        allocation: how systems are spread over a worker's labels.
        shares_contexts: true if all systems answer the same contexts.
        correlation: correlation of a judge's label with people's label of the same item, in [-1, 1]; 0: no
            judge.
        judged_only: items of each system that the judge labels, for each item that people label.
    """

    per_worker: int = 1
    per_context: int = 1
    systems: int = 2
    allocation: Allocation = Allocation.RANDOM
    shares_contexts: bool = False
    correlation: float = 0.0
    judged_only: float = 0.0

    def __post_init__(self) -> None:
        for name in ("per_worker", "per_context"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be 1 or more.")
        if self.systems < 2:
            raise ValueError(f"systems={self.systems} must be 2 or more; a comparison needs two.")
        if not -1 <= self.correlation <= 1:
            raise ValueError(f"correlation={self.correlation} must lie in [-1, 1].")
        if not 0 <= self.judged_only < math.inf:
            raise ValueError(f"judged_only={self.judged_only} must be 0 or more.")

    def workers(self, contexts: int) -> int:
        """Number of workers for a number of contexts or conversations of each system."""
        return math.ceil(contexts * self.per_context * self.groups / self.per_worker)

    @property
    def groups(self) -> int:
        """Number of groups over which a worker's labels are spread: systems, or pairs of systems."""
        return math.comb(self.systems, 2) if self.allocation is Allocation.PREFERENCE else self.systems

    @property
    def share_of_workers(self) -> float:
        """Expected share of workers with a label of either of two systems, or of one pair of systems."""
        s, m = self.groups, self.per_worker
        match self.allocation:
            case Allocation.ONE_SYSTEM:
                return 2 / s
            case Allocation.RANDOM:
                return 1 - (1 - 2 / s) ** m
            case Allocation.BALANCED:
                return 1 - (math.comb(s - 2, m) / math.comb(s, m) if m < s else 0.0)
            case _:
                return 1 - (1 - 1 / s) ** m


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected standard error of a difference and its degrees of freedom."""

    error: float
    freedom: float


def expected_error(contexts: int, components: Components, design: Design) -> Expected:
    """Expected standard error of the difference of two systems, or of a preference.

    Args:
        contexts: contexts, or conversations, of each system; at least 2. Of a preference, pairs.
        components: variances of a label's effects.
        design: what each worker does.

    Returns:
        The standard error in the score's unit, with Satterthwaite's degrees of freedom.

    Raises:
        ValueError: fewer than 2 contexts.
    """
    if contexts < 2:
        raise ValueError(f"{contexts} of each system is not a study; it needs at least 2.")
    labels = contexts * design.per_context
    means = 1 if design.allocation is Allocation.PREFERENCE else 2
    apart = 0.0 if design.shares_contexts and means == 2 else components.context
    by_context = means * (apart + components.context_by_system) / contexts
    by_rest = means * components.rest / labels
    by_worker = _of_workers(labels, components, design)
    # With n items that people label and N that only the judge does, tuned inference takes away the share
    # correlation² N / (n + N) of the variance between items; workers' own variance stays.
    kept = 1 - design.correlation**2 * design.judged_only / (1 + design.judged_only)
    by_context, by_rest = kept * by_context, kept * by_rest
    return Expected(
        math.sqrt(by_context + by_rest + by_worker),
        _freedom(contexts, by_context, by_worker, by_rest, design),
    )


def _of_workers(labels: int, components: Components, design: Design) -> float:
    """Variance of the difference that workers contribute, for a number of labels of each system.

    A worker with a labels of the first system and b of the second enters with (a - b)² of the worker's
    variance and a² + b² of the worker's variance with a system, both over labels².
    """
    m, s = design.per_worker, design.systems
    worker, with_system = components.worker, components.worker_by_system
    match design.allocation:
        case Allocation.RANDOM:
            return (2 * worker + 2 * (s - 1 + m) / s * with_system) / labels
        case Allocation.BALANCED:
            # A worker with fewer labels than systems has each system at most once.
            remainder = (m % s) * (s - m % s) / (s - 1) / s if m % s else 0.0
            squared = (m / s) ** 2 + (m % s) * (s - m % s) / s**2
            return (2 * remainder * worker + 2 * squared * with_system) * s / m / labels
        case Allocation.ONE_SYSTEM:
            return 2 * m * (worker + with_system) / labels
        case _:
            # By chance, a worker has on average m / k of a pair's labels, of k pairs of systems.
            k = design.groups
            return (k - 1 + m) / k * (worker + with_system) / labels


def _freedom(contexts: int, by_context: float, by_worker: float, by_rest: float, design: Design) -> float:
    """Satterthwaite's degrees of freedom; of the coarser clustering where one is nested in the other."""
    workers = design.workers(contexts)
    means = 1 if design.allocation is Allocation.PREFERENCE else 2
    of_contexts = (1 if design.shares_contexts else means) * (contexts - 1)
    of_workers = max(1, workers * design.share_of_workers - means)
    if design.per_context == 1 and not design.shares_contexts:
        return max(1.0, min(of_contexts, of_workers))
    first, second = by_context + by_rest, by_worker + by_rest
    total = first + by_worker
    noise = first**2 / of_contexts + second**2 / of_workers
    least, most = sorted((of_contexts, of_workers))
    return float(min(max(total**2 / noise if noise > 0 else least, least), most + least))


def power_of_test(difference: float, expected: Expected, level: float = 0.95) -> float:
    """Probability that a two-sided t test at 1 - level sees a difference.

    Args:
        difference: true difference, in the unit of the standard error; not 0.
        expected: standard error and degrees of freedom.
        level: nominal coverage, in (0, 1).
    """
    shift = abs(difference) / expected.error
    critical = float(scipy.special.stdtrit(expected.freedom, (1 + level) / 2))
    missed, wrong_way = (_noncentral_t(each, expected.freedom, shift) for each in (critical, -critical))
    return 1 - missed + wrong_way


def _noncentral_t(t: float, freedom: float, shift: float) -> float:
    """Distribution function of the noncentral t; SciPy 1.17 gives NaN in parts of the tail below 1e-9."""
    probability = float(scipy.special.nctdtr(freedom, shift, t))
    return 0.0 if math.isnan(probability) else probability


def power_at(
    contexts: int, difference: float, components: Components, design: Design, *, level: float = 0.95
) -> float:
    """Probability that a study of this size tells a true difference.

    Args:
        contexts: contexts or conversations of each system; at least 2.
        difference: true difference, in the score's unit; above 0.
        components: variances of a label's effects.
        design: what each worker does.
        level: nominal coverage of the interval that must exclude 0, in (0, 1).

    Raises:
        ValueError: an argument out of range; names it.
    """
    _check(difference, 0.5, level)
    return power_of_test(difference, expected_error(contexts, components, design), level)


def units_needed(
    difference: float, components: Components, design: Design, *, power: float = 0.8, level: float = 0.95
) -> int:
    """Smallest number of contexts or conversations of each system that tells a true difference.

    Args:
        difference: true difference, in the score's unit; above 0.
        components: variances of a label's effects.
        design: what each worker does.
        power: wanted probability, in (0, 1).
        level: nominal coverage of the interval that must exclude 0, in (0, 1).

    Raises:
        ValueError: an argument out of range, or more than ten million needed.
    """
    _check(difference, power, level)
    return smallest_sufficient(
        lambda units: power_at(units, difference, components, design, level=level), power, difference
    )


def smallest_sufficient(power_of: Callable[[int], float], power: float, difference: float) -> int:
    """Smallest number of units, from 2 up, whose power suffices.

    Args:
        power_of: power by number of units; rises.
        power: wanted probability.
        difference: named in the error.

    Raises:
        ValueError: more than ten million needed.
    """
    low, high = 1, 2
    while power_of(high) < power:
        low, high = high, 2 * high
        if high > MOST_UNITS:
            raise ValueError(
                f"A difference of {difference:g} needs more than {MOST_UNITS:,} conversations per bot; plan "
                f"for a larger one."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high


def smallest_difference(
    contexts: int,
    components: Components,
    design: Design,
    *,
    most: float,
    power: float = 0.8,
    level: float = 0.95,
) -> float | Undefined:
    """Smallest true difference that a study of this size tells; the inverse of `units_needed`.

    Args:
        contexts: contexts or conversations of each system.
        components: variances of a label's effects.
        design: what each worker does.
        most: largest possible difference, in the score's unit.
        power: wanted probability, in (0, 1).
        level: nominal coverage of the interval that must exclude 0, in (0, 1).

    Returns:
        A difference, to a relative error of 1/10,000; `Undefined` if not even `most` would be told.
    """
    _check(most, power, level)
    if contexts < 2:
        return Undefined(f"{contexts} conversation shows no spread; it needs at least 2 with each bot.")
    expected = expected_error(contexts, components, design)
    if power_of_test(most, expected, level) < power:
        return Undefined(f"{contexts} conversations with each bot would show no difference of any size.")
    low, high = 0.0, most
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power_of_test(middle, expected, level) >= power else (middle, high)
    return high


def _check(difference: float, power: float, level: float) -> None:
    if not 0 < difference < math.inf:
        raise ValueError(
            f"difference={difference:g} must be above 0: no study tells two equal systems apart. Give the "
            f"smallest difference that matters."
        )
    for name, value in (("power", power), ("level", level)):
        if not 0 < value < 1:
            raise ValueError(f"{name}={value:g} must lie between 0 and 1, such as 0.8 or 0.95.")
