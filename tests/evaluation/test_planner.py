"""The planner against textbook sample sizes, simulation and the papers' own figures."""

import math
from collections.abc import Hashable

import numpy as np
import pytest

from evaluation.statistics.differences import difference, differences
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.sample_size import (
    conversations_needed,
    deviation_from_rates,
    deviation_from_runs,
    difference_seen,
    further_needed,
    pilot_deviation,
    power_of,
)


@pytest.mark.parametrize(
    ("effect", "power", "published"),
    # Cohen 1988, table 2.4.1, two-sided 5 %: n per group for d.
    [(0.2, 0.80, 393), (0.5, 0.80, 64), (0.8, 0.80, 26), (0.5, 0.90, 85), (0.5, 0.95, 105)],
)
def test_sample_sizes_are_cohens(effect, power, published):
    plan = conversations_needed(effect * 0.2, 0.2, power=power)

    assert abs(plan.conversations - published) <= 1
    assert plan.power >= power
    assert power_of(plan.conversations - 1, effect * 0.2, 0.2) < power


@pytest.mark.parametrize(("conversations", "effect"), [(393, 0.2), (64, 0.5), (26, 0.8)])
def test_the_detectable_difference_is_cohens(conversations, effect):
    seen = difference_seen(conversations, 0.2)

    assert not isinstance(seen, Undefined)
    assert seen == pytest.approx(effect * 0.2, rel=0.01)  # his n are rounded up
    assert power_of(conversations, seen, 0.2) == pytest.approx(0.8, abs=0.001)


def test_too_few_conversations_show_no_possible_difference():
    assert isinstance(difference_seen(1, 0.1), Undefined)
    assert isinstance(difference_seen(2, 0.5), Undefined)
    assert difference_seen(2, 0.1) == pytest.approx(difference_seen(2, 0.05) * 2, rel=0.001)


@pytest.mark.parametrize("difference", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("conversations", [2, 3, 10, 100, 1000])
def test_the_power_is_finite_for_any_difference(conversations, difference):
    # SciPy's noncentral t is NaN at some of these, such as 4 degrees of freedom and a shift of 10.
    assert 0 < power_of(conversations, difference, 0.1, level=0.99) <= 1
    assert power_of(3, math.sqrt(2 / 3), 0.1 * math.sqrt(2 / 3)) > 0.99


def test_the_stated_power_is_met_in_simulated_studies():
    draw = np.random.default_rng(1)
    first, second = draw.normal([[[0.05]], [[0.0]]], 0.13, (2, 4000, 60))
    error = np.sqrt((first.var(axis=1, ddof=1) + second.var(axis=1, ddof=1)) / 60)
    seen = np.abs(first.mean(axis=1) - second.mean(axis=1)) > 1.980 * error  # t with 118 degrees of freedom

    assert power_of(60, 0.05, 0.13) == pytest.approx(seen.mean(), abs=0.025)


@pytest.mark.parametrize(("effect", "pairs"), [(0.2, 199), (0.5, 34), (0.8, 15)])
def test_paired_sample_sizes_are_the_textbooks(effect, pairs):
    # G*Power 3.1, paired t test, two-sided 5 %, power 80 %, for the effect in deviations of the difference;
    # with a correlation of 1/2 the difference has the deviation of a single score.
    assert conversations_needed(effect * 0.2, 0.2, correlation=0.5).conversations == pairs


def test_the_stated_power_of_pairs_is_met_in_simulated_studies():
    draw = np.random.default_rng(3)
    ease = draw.normal(0, 0.1, (4000, 30))
    gaps = (0.05 + ease + draw.normal(0, 0.1, ease.shape)) - (ease + draw.normal(0, 0.1, ease.shape))
    seen = np.abs(gaps.mean(axis=1)) > 2.045 * gaps.std(axis=1, ddof=1) / math.sqrt(30)  # t with 29

    # Ease and noise have equal variance, so the correlation is 1/2 and the deviation 0.1 √2.
    assert power_of(30, 0.05, 0.1 * math.sqrt(2), correlation=0.5) == pytest.approx(seen.mean(), abs=0.025)


def test_a_correlation_of_one_is_refused():
    with pytest.raises(ValueError, match="correlation=1 must lie in"):
        power_of(30, 0.05, 0.1, correlation=1)


def test_without_a_difference_the_power_is_the_error_rate():
    assert power_of(50, 1e-9, 0.1) == pytest.approx(0.05)
    assert power_of(50, 1e-9, 0.1, level=0.9) == pytest.approx(0.10)


def test_the_deviation_from_rates_equals_simulated_conversations():
    # 87 % sensible, 70 % specific, 7 turns: Meena's published rates, independent turns.
    draw = np.random.default_rng(2).random((200_000, 7))
    scores = (0.5 * (draw < 0.87) + 0.5 * (draw < 0.70)).mean(axis=1)

    assert deviation_from_rates(0.87, 0.70) == pytest.approx(scores.std(), rel=0.01)


def test_dependent_turns_raise_the_deviation_by_the_design_effect():
    independent, dependent = (deviation_from_rates(0.8, 0.6, intraclass=rho) for rho in (0, 0.5))

    assert dependent == pytest.approx(independent * math.sqrt(1 + 6 * 0.5))
    assert deviation_from_rates(0.8, 0.6, intraclass=1) == pytest.approx(
        deviation_from_rates(0.8, 0.6, turns=1)
    )


def test_the_pilot_deviation_of_equal_conversations_is_the_sample_deviation():
    scores = np.array([0.5, 0.75, 1.0, 0.25])
    rows = np.column_stack([8 * scores, 8 * scores, np.full(4, 8.0)])

    assert pilot_deviation(rows) == pytest.approx(scores.std(ddof=1))


def test_the_pilot_deviation_predicts_the_error_of_a_study():
    draw = np.random.default_rng(3)

    def study(k: int) -> np.ndarray:
        turns = draw.integers(7, 15, k)
        sensible = draw.binomial(turns, draw.beta(8, 2, k))
        return np.column_stack([sensible, draw.binomial(sensible, 0.7), turns]).astype(float)

    totals = np.array([study(100).sum(axis=0) for _ in range(1500)])
    spread = ((totals[:, 0] + totals[:, 1]) / 2 / totals[:, 2]).std()

    assert pilot_deviation(study(4000)) / math.sqrt(100) == pytest.approx(spread, rel=0.07)


def test_the_papers_repeated_studies_give_a_deviation():
    assert deviation_from_runs(0.01, 100) == pytest.approx(0.10)


@pytest.mark.parametrize("rows", [np.ones((1, 3)), np.tile([7.0, 7.0, 7.0], (5, 1))])
def test_a_pilot_without_spread_is_named(rows):
    assert isinstance(pilot_deviation(rows), Undefined)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"difference": 3, "deviation": 0.1}, "3 points are 0.03"),
        ({"difference": 0.03, "deviation": 0}, "deviation=0 must be positive"),
        ({"difference": 0.03, "deviation": 0.1, "power": 80}, "power=80"),
        ({"difference": 1e-6, "deviation": 0.5}, "plan for a larger one"),
    ],
)
def test_arguments_out_of_range_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        conversations_needed(**arguments)


def test_rates_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="specificity is at most sensibleness"):
        deviation_from_rates(0.5, 0.6)


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
