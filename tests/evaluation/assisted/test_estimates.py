"""Estimates from people and a judge against ppi-python, brute force and people's labels alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator
from scipy.optimize import lsq_linear
from scipy.stats import norm
from scipy.stats import t as student

from evaluation.assisted.estimates import AssistedEstimate, assisted_difference, assisted_mean
from evaluation.assisted.influence import spread_of
from evaluation.assisted.intervals import IntervalRule
from evaluation.assisted.parts import parts_of
from evaluation.assisted.power import box_minimum, tuned
from evaluation.assisted.samples import AssistedSample
from evaluation.statistics.differences import difference
from evaluation.statistics.inference import mean
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.variance import Over


def study(
    rng: Generator, n: int = 60, pool: int = 200, *, noise: float = 0.2, each: int = 1, base: float = 0.0
) -> AssistedSample:
    """Scores from 0 to 1 of n conversations of workers with so many each, and a judge that errs by noise."""
    quality = rng.beta(2, 2, n + pool) * (1 - base) + base
    judge = np.clip(quality + noise * rng.normal(size=n + pool), 0, 1)
    value = np.clip(quality[:n] + 0.1 * rng.normal(size=n), 0, 1)
    return AssistedSample(np.arange(n + pool), judge, np.arange(n), value, np.arange(n) // each)


def found(result: AssistedEstimate | Undefined) -> AssistedEstimate:
    assert isinstance(result, AssistedEstimate)
    return result


def half(interval: Interval | Undefined) -> float:
    assert isinstance(interval, Interval)
    return (interval.high - interval.low) / 2


# Printed by ppi-python 0.2.3 (`ppi_mean_pointestimate`, `ppi_mean_ci` with alpha = 0.05) for these samples.
# It is no dependency of the tests: its wheel has a package `tests`, which hides this folder.
@pytest.mark.parametrize(
    ("power", "value", "low", "high"),
    [
        (0.0, 0.5136531302620031, 0.4588040341108429, 0.5685022264131633),
        (0.3, 0.5309298791900944, 0.48325048569091433, 0.5786092726892744),
        (1.0, 0.5712422933556408, 0.4974175277902305, 0.6450670589210511),
    ],
)
def test_estimate_and_error_are_those_of_ppi_python(rng, power, value, low, high):
    n = 80
    sample = study(rng, n, n)

    ours = found(assisted_mean(sample, power=power, low=None, high=None))

    assert ours.value == pytest.approx(value, rel=1e-13)
    # ppi-python divides squares by n and takes the normal quantile.
    factor = np.sqrt(n / (n - 1)) * student.ppf(0.975, ours.freedom) / norm.ppf(0.975)
    assert half(ours.interval) == pytest.approx((high - low) / 2 * factor, rel=1e-12)


def test_the_estimate_of_the_tuned_power_is_close_to_that_of_ppi_python(rng):
    sample = study(rng, 400, 2_000)

    ours = found(assisted_mean(sample))

    # It takes the judge's variance from all items, we from people's items and others apart.
    assert ours.value == pytest.approx(0.49588225301878874, abs=1e-3)


def test_weights_of_known_probabilities_are_those_of_ppi_python(rng):
    sample = replace(study(rng), probability=rng.uniform(0.1, 0.9, 260))

    ours = found(assisted_mean(sample, power=0.7))

    assert ours.value == pytest.approx(0.5204903800553167, rel=1e-13)  # its `w`: 1 / probability


def test_strata_are_added_by_their_shares_of_the_items(rng):
    sample = replace(study(rng), stratum=rng.integers(0, 2, 260))

    ours = found(assisted_mean(sample, power=0.5))

    second = float((sample.stratum == 1).mean())
    expected = (1 - second) * 0.546286949184019 + second * 0.49177585580591165  # of each stratum alone
    assert ours.value == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("each", [1, 3, 10])
def test_without_the_judge_it_is_the_score_of_every_report(rng, each):
    sample = study(rng, each=each)

    plain = mean(sample.people)
    ours = found(assisted_mean(sample, power=0, rule=IntervalRule.WALD))

    assert ours.value == pytest.approx(plain.value, rel=1e-14)
    assert ours.freedom == pytest.approx(plain.freedom, rel=1e-9)
    assert found(assisted_mean(sample, power=0)).freedom == pytest.approx(plain.freedom, rel=1e-9)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((plain.interval.low, plain.interval.high))
    assert ours.over is plain.over


def test_without_the_judge_a_difference_is_that_of_every_report(rng):
    first, second = study(rng), study(rng, base=0.3)
    assert second.rater is not None
    second = replace(second, cluster=second.cluster + 1_000, rater=second.rater + 1_000)

    plain = difference(first.people, second.people)
    ours = found(assisted_difference(first, second, power=0, rule=IntervalRule.WALD))

    assert ours.value == pytest.approx(plain.difference, rel=1e-13)
    assert ours.p == pytest.approx(plain.p, rel=1e-6)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((plain.interval.low, plain.interval.high))


def test_a_difference_on_the_same_contexts_is_paired(rng):
    """With everything in common but noise, it is the paired t test of `differences`."""
    first = study(rng)
    noise = 0.02 * rng.normal(size=60)
    second = replace(first, value=np.clip(first.value - 0.05 + noise, 0, 1))

    ours, plain = found(assisted_difference(first, second, power=0)), difference(first.people, second.people)

    assert half(ours.interval) == pytest.approx(half(plain.interval), rel=1e-6)


def crossed(rng: Generator) -> AssistedSample:
    """40 items judged by 3 of 6 raters, in two items per context."""
    rater = np.argsort(rng.random((40, 6)), axis=1)[:, :3].ravel()
    item = np.repeat(np.arange(40), 3)
    quality = rng.beta(2, 2, 100)
    value = np.clip(quality[item] + 0.1 * rng.normal(size=120) + 0.1 * (rater - 3), 0, 1)
    return AssistedSample(
        np.arange(100) // 2, np.clip(quality + 0.1 * rng.normal(size=100), 0, 1), item, value, rater
    )


@pytest.mark.parametrize("given", ["nested", "crossed"])
def test_variance_is_that_of_loops_over_all_pairs_of_labels(rng, given):
    sample = study(rng, each=3) if given == "nested" else crossed(rng)
    parts = parts_of([(sample, 1.0)])
    power = np.array([0.6])
    influence = parts.influence(power, np.broadcast_to(power, parts.judge.shape))
    numbers = mean(sample.people).numbers

    rows = parts.rows

    def looped(codes) -> float:
        corrected = []
        for row in range(len(codes)):
            same = (codes == codes[row]) & (rows.part == rows.part[row])
            corrected.append(influence[row] / np.sqrt(1 - rows.share[same].sum()))
        return sum(
            corrected[i] * corrected[j]
            for i in range(len(codes))
            for j in range(len(codes))
            if codes[i] == codes[j]
        )

    ours = spread_of(rows, influence, numbers)
    assert ours is not None
    by_cluster, by_rater, by_pair = (looped(codes) for codes in (rows.cluster, rows.rater, rows.pair))
    if given == "nested":
        assert ours.over is Over.RATERS
        assert ours.variance == pytest.approx(by_rater, rel=1e-10)
    else:
        assert ours.over is Over.BOTH
        both = max(by_cluster + by_rater - by_pair, by_cluster, by_rater)
        assert ours.variance == pytest.approx(both, rel=1e-10)


def test_variance_is_that_of_leaving_out_each_conversation(rng):
    """Conversations of four turns: those of people and those of the judge alone are left out in turn."""
    judge = rng.uniform(size=400)
    value = np.clip(judge[:120] + 0.3 * rng.normal(size=120), 0, 1)
    cluster = np.arange(400) // 4
    sample = AssistedSample(cluster, judge, np.arange(120), value, cluster[:120])

    def estimate(out: int) -> float:
        here, elsewhere = cluster[:120] != out, cluster[120:] != out
        return float((value - 0.8 * judge[:120])[here].mean() + 0.8 * judge[120:][elsewhere].mean())

    variance = 0.0
    for clusters in (range(30), range(30, 100)):
        values = np.array([estimate(out) for out in clusters])
        variance += (len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()
    ours = found(assisted_mean(sample, power=0.8, low=None, high=None))

    assert half(ours.interval) == pytest.approx(
        student.ppf(0.975, ours.freedom) * np.sqrt(variance), rel=1e-10
    )


def test_the_power_of_several_parts_is_the_constrained_optimum(rng):
    factor, target = rng.normal(size=(30, 4)), rng.normal(size=30)
    factor[:, 1] = 0

    ours = box_minimum(factor.T @ factor, factor.T @ target)

    assert ours[1] == 0
    theirs = lsq_linear(factor[:, [0, 2, 3]], target, bounds=(0, 1)).x
    assert ours[[0, 2, 3]] == pytest.approx(theirs, abs=1e-6)


def test_the_power_without_a_unit_is_that_of_the_other_rows(rng):
    people, judge = rng.normal(size=30), rng.normal(size=(30, 2))
    people += judge @ [0.4, 0.3]
    cluster = np.arange(30) // 2
    unit = cluster // 3

    _, without = tuned(people, judge, cluster, unit)

    rest = unit != 0
    assert without[0] == pytest.approx(tuned(people[rest], judge[rest], cluster[rest], unit[rest])[0])


def test_a_good_judge_is_worth_many_labels(rng):
    ours = found(assisted_mean(study(rng, noise=0.02, pool=2_000)))

    assert 0.8 < ours.power[0] <= 1
    assert ours.worth > 3
    assert ours.effective_items > 180
    assert half(ours.interval) < half(ours.people_interval)
    assert f"as if people had labelled {ours.effective_items} items instead of 60" in ours.sentence()


@pytest.mark.parametrize("judge", ["hostile", "constant", "missing"])
def test_a_judge_that_adds_nothing_leaves_people_s_estimate(rng, judge):
    sample = study(rng, noise=0.02)
    labels = {"hostile": 1 - sample.judge, "constant": np.full(260, 0.5), "missing": np.full(260, np.nan)}

    ours = found(assisted_mean(replace(sample, judge=labels[judge])))

    alone = mean(sample.people)
    assert ours.power == (0.0,)
    assert ours.worth == 1
    assert (ours.value, ours.effective_items) == (pytest.approx(alone.value), 60)
    assert ours.interval == ours.people_interval
    assert half(ours.interval) == pytest.approx(half(alone.interval), rel=0.03)
    assert ours.sentence().startswith("The judge adds nothing")


def test_labels_that_are_all_alike_give_people_s_exact_interval(rng):
    sample = replace(study(rng), value=np.ones(60))

    ours = found(assisted_mean(sample))

    assert ours.interval == mean(sample.people).interval
    assert "all alike" in ours.note


def test_labels_that_the_judge_lacks_more_often_for_poor_items_bias_nothing(rng):
    values = []
    for _ in range(300):
        sample = study(rng, noise=0.05)
        missing = rng.random(260) < 0.8 * (1 - sample.judge)
        values.append(
            found(assisted_mean(replace(sample, judge=np.where(missing, np.nan, sample.judge)))).value
        )

    assert np.mean(values) == pytest.approx(0.5, abs=4 * np.std(values) / np.sqrt(300))


def test_a_judge_that_favours_one_system_biases_nothing(rng):
    values, judged = [], []
    for _ in range(300):
        first, second = study(rng, noise=0.05), study(rng, noise=0.05)
        first = replace(first, judge=np.minimum(first.judge + 0.2, 1))
        assert second.rater is not None
        second = replace(second, cluster=second.cluster + 1_000, rater=second.rater + 1_000)
        values.append(found(assisted_difference(first, second)).value)
        judged.append(first.judge.mean() - second.judge.mean())

    assert np.mean(judged) > 0.15
    assert np.mean(values) == pytest.approx(0, abs=4 * np.std(values) / np.sqrt(300))


def test_items_that_were_not_drawn_at_random_are_noticed(rng):
    sample = study(rng, noise=0.05)
    order = np.argsort(sample.judge)
    best = replace(sample, judge=sample.judge[order[::-1]], value=np.sort(sample.value)[::-1].copy())

    ours = found(assisted_mean(best))

    assert ours.drawn_alike < 0.001
    assert "check that people's items were drawn at random" in ours.sentence()


def test_below_twenty_items_of_people_it_says_that_it_cannot(rng):
    assert "19 items" in assisted_mean(study(rng, n=19)).reason
    assert isinstance(assisted_mean(study(rng, n=20)), AssistedEstimate)
    few = assisted_difference(study(rng), study(rng, n=19))
    assert "19 items of the second system" in few.reason


def test_a_stratum_with_few_items_of_people_is_refused(rng):
    stratum = np.zeros(260, dtype=np.int64)
    stratum[:3] = 1

    assert "3 items of a stratum" in assisted_mean(replace(study(rng), stratum=stratum)).reason


def test_values_outside_the_scale_are_refused(rng):
    sample = study(rng)

    with pytest.raises(ValueError, match="judge gave 3"):
        assisted_mean(replace(sample, judge=np.full(260, 3.0)))
    with pytest.raises(ValueError, match="power=2"):
        assisted_mean(sample, power=2)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("probability", np.zeros(260), "Row 1, column probability: 0.0 is not above 0"),
        ("item", np.full(60, 260), "Row 1, column item: 260 is none of the items"),
        ("value", np.full(60, np.nan), "Row 1, column value: nan is not a finite number"),
        ("item", np.zeros(60, dtype=np.int64), "Row 2, column rater: The same rater"),
        ("judge", np.zeros(3), "rows"),
    ],
)
def test_bad_columns_are_refused(rng, column, value, message):
    sample = replace(study(rng), rater=np.zeros(60, dtype=np.int64))

    with pytest.raises(ValueError, match=message):
        replace(sample, **{column: value})


@pytest.mark.parametrize("pool", [0, 1, 5, 19])
def test_few_further_items_leave_the_estimate_to_people(pool: int) -> None:
    """A single item shows no variance: λ was 1, and intervals held the truth in 65 % of studies."""
    sample = study(np.random.default_rng(3), n=24, pool=pool)

    ours = found(assisted_mean(sample))

    assert ours.power == (0.0,)
    assert (ours.value, ours.interval) == (ours.people_value, ours.people_interval)
    assert ours.worth == 1


def test_further_items_that_the_judge_labels_alike_leave_the_estimate_to_people() -> None:
    sample = study(np.random.default_rng(3), n=60, pool=40)
    alike = np.where(sample.has_labels, sample.judge, 1.0)

    assert found(assisted_mean(replace(sample, judge=alike))).power == (0.0,)
