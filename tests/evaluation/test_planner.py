"""The planner against textbook sample sizes, simulation and the papers' own figures."""

from collections.abc import Hashable

import numpy as np
import pytest

from evaluation.planning.power import (
    Components,
    Design,
    power_at,
    smallest_difference,
    units_needed,
)
from evaluation.planning.sample_size import further_needed
from evaluation.statistics.differences import difference, differences
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined

ONE_EACH, SPREAD = Design(), Components.from_shares(20.0)
# The same contexts for both bots: with half the variance between contexts, a difference has the spread of a
# single score.
SAME_CONTEXTS, HALF_SHARED = Design(shares_contexts=True), Components.from_shares(20.0, context=0.5)


@pytest.mark.parametrize(
    ("effect", "power", "published"),
    # Cohen 1988, table 2.4.1, two-sided 5 %: n per group for d.
    [(0.2, 0.80, 393), (0.5, 0.80, 64), (0.8, 0.80, 26), (0.5, 0.90, 85), (0.5, 0.95, 105)],
)
def test_sample_sizes_are_cohens(effect, power, published):
    units = units_needed(effect * 20, SPREAD, ONE_EACH, power=power)

    assert abs(units - published) <= 1
    assert power_at(units, effect * 20, SPREAD, ONE_EACH) >= power
    assert power_at(units - 1, effect * 20, SPREAD, ONE_EACH) < power


@pytest.mark.parametrize(("conversations", "effect"), [(393, 0.2), (64, 0.5), (26, 0.8)])
def test_the_detectable_difference_is_cohens(conversations, effect):
    seen = smallest_difference(conversations, SPREAD, ONE_EACH, most=100)

    assert not isinstance(seen, Undefined)
    assert seen == pytest.approx(effect * 20, rel=0.01)  # his n are rounded up
    assert power_at(conversations, seen, SPREAD, ONE_EACH) == pytest.approx(0.8, abs=0.001)


def test_too_few_conversations_show_no_possible_difference():
    assert isinstance(smallest_difference(1, SPREAD, ONE_EACH, most=100), Undefined)
    assert isinstance(smallest_difference(2, SPREAD, ONE_EACH, most=40), Undefined)


@pytest.mark.parametrize("difference", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("conversations", [2, 3, 10, 100, 1000])
def test_the_power_is_finite_for_any_difference(conversations, difference):
    # SciPy's noncentral t is NaN at some of these, such as 4 degrees of freedom and a shift of 10.
    assert 0 < power_at(conversations, difference, Components.from_shares(0.1), ONE_EACH, level=0.99) <= 1


def test_without_a_difference_the_power_is_the_error_rate():
    assert power_at(50, 1e-9, SPREAD, ONE_EACH) == pytest.approx(0.05)
    assert power_at(50, 1e-9, SPREAD, ONE_EACH, level=0.9) == pytest.approx(0.10)


@pytest.mark.parametrize(("effect", "pairs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_paired_sample_sizes_are_the_textbooks(effect, pairs):
    # G*Power 3.1, paired t test, two-sided 5 %, power 80 %, for the effect in deviations of the difference.
    assert units_needed(effect * 20, HALF_SHARED, SAME_CONTEXTS) == pytest.approx(pairs, abs=1)


def spaced(conversations: int, mean: float, deviation: float, start: int) -> Sample:
    """One label per conversation, with exactly this mean and this standard deviation."""
    raw = np.linspace(-1, 1, conversations)
    codes = start + np.arange(conversations)
    return Sample(mean + deviation * raw / raw.std(ddof=1), codes, codes)


def test_the_number_still_needed_is_cohens_less_the_existing_one():
    # Cohen 1988, Table 2.4.1: d = 0.5 needs 64 in each group for a power of 0.8; 20 are there.
    found = difference(spaced(20, 0.55, 0.1, 0), spaced(20, 0.5, 0.1, 100))

    assert further_needed(found) == 44


def test_several_pairs_need_more_conversations():
    means = enumerate({"a": 0.55, "b": 0.5, "c": 0.53}.items())
    samples: dict[Hashable, Sample] = {name: spaced(20, mean, 0.1, 100 * n) for n, (name, mean) in means}
    of_three = next(each for each in differences(samples) if {each.first, each.second} == {"a", "b"})

    # Bonferroni over 3 pairs: about (z(1 - .05/6) + z(.8))² · 2 / d² = (2.394 + .842)² · 8 = 84 and a little.
    assert further_needed(of_three) == pytest.approx(84 - 20, abs=3)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (spaced(20, 0.7, 0.1, 0), spaced(20, 0.5, 0.1, 100), "already clear"),
        (spaced(20, 0.5, 0.1, 0), spaced(20, 0.5, 0.1, 100), "so close"),
        (spaced(20, 0.5, 0.1, 0), Sample(np.array([0.4]), np.array([100]), np.array([100])), "needs 2"),
    ],
)
def test_a_sufficient_or_hopeless_sample_is_named(first, second, reason):
    needed = further_needed(difference(first, second))

    assert isinstance(needed, Undefined)
    assert reason in needed.reason
