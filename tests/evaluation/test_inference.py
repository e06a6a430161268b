"""Scores with intervals over what their labels cross: hand calculation, brute force, SciPy, coverage."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from evaluation.statistics.inference import Sample, mean, samples
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import LabelsError
from evaluation.statistics.variance import Over, clustered, spread


def sample(values, cluster, rater=None) -> Sample:
    raters = None if rater is None else np.asarray(rater)
    return Sample(np.asarray(values, dtype=float), np.asarray(cluster), raters)


def interval(found: Sample, **scale: Any) -> Interval:
    estimate = mean(found, **scale)
    assert not isinstance(estimate, Undefined)
    assert isinstance(estimate.interval, Interval)
    return estimate.interval


def test_the_interval_of_equal_conversations_is_students_on_the_logit():
    # Four conversations with means 1/2, 1, 1/2, 1: mean 3/4, variance of the means 1/12, so that the error is
    # √(1/48); on the logit √(1/48) / (3/4 · 1/4). Student's t of 3 degrees of freedom is 3.182446.
    found = interval(sample([1, 0, 1, 1, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 2, 2, 3, 3]))

    half = 3.182446 * np.sqrt(1 / 48) / (3 / 16)
    assert (found.low, found.high) == pytest.approx((expit(logit(0.75) - half), expit(logit(0.75) + half)))
    assert found.method == "logit t"


def test_a_scale_moves_the_interval_with_it():
    share = sample([1, 0, 1, 1, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3])
    rating = sample(1 + 6 * share.values, share.cluster)

    shares, ratings = interval(share), interval(rating, low=1, high=7)

    assert (ratings.low, ratings.high) == pytest.approx((1 + 6 * shares.low, 1 + 6 * shares.high))


def test_without_a_scale_the_interval_is_students_of_the_conversations():
    values = np.random.default_rng(1).normal(size=12)

    found = interval(sample(values, np.arange(12)), low=None, high=None)

    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


def test_degrees_of_freedom_are_those_of_the_matrix_formula():
    # Bell & McCaffrey: with S = A (I - H) T over clusters, (trace)² / trace of the square.
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(7), [1, 2, 3, 5, 8, 13, 21])
    influence = rng.normal(size=53) + rng.normal(size=7)[codes]
    found = clustered((influence - influence.mean()) / 53, codes)
    n = found.sizes
    share, total = n / n.sum(), n.sum()
    typical = (n**2).sum() / total
    intraclass = np.clip((found.variance / found.independent - 1) / (typical - 1), 0, 1)
    centre = np.eye(7) - np.outer(share, np.ones(7))
    covariance = centre @ np.diag(n + intraclass * n**2) @ centre.T
    weighted = np.diag(1 / (1 - share)) @ covariance

    assert 0 < intraclass < 1
    assert found.freedom == pytest.approx(np.trace(weighted) ** 2 / np.trace(weighted @ weighted))


def test_equal_clusters_have_one_degree_of_freedom_less_than_their_number():
    values = np.random.default_rng(3).normal(size=40)

    assert clustered(values - values.mean(), np.repeat(np.arange(8), 5)).freedom == pytest.approx(7)


def test_the_variance_over_contexts_and_raters_is_the_sum_over_pairs_of_labels_that_share_either():
    rng = np.random.default_rng(4)
    contexts, raters = np.divmod(rng.choice(20 * 6, 60, replace=False), 6)
    values = rng.normal(size=20)[contexts] + rng.normal(size=6)[raters] + rng.normal(size=60) / 3
    deviation = (values - values.mean()) / 60

    def scaled(codes):
        sizes = np.bincount(codes, minlength=codes.max() + 1)[codes]
        return deviation / np.sqrt(1 - sizes / 60)

    expected = 0.0
    for codes, sign in ((contexts, 1), (raters, 1), (contexts * 6 + raters, -1)):
        u = scaled(codes)
        expected += sign * sum(u[i] * u[j] for i in range(60) for j in range(60) if codes[i] == codes[j])
    found = spread(Sample(values, contexts, raters).sums)

    assert found is not None
    assert found.over is Over.BOTH
    assert found.variance == pytest.approx(expected)


@pytest.mark.parametrize(
    ("cluster", "rater", "over", "says"),
    [
        ([0, 0, 1, 1, 2, 2], [5, 5, 6, 6, 7, 7], Over.CLUSTERS, "other conversations with other workers"),
        ([0, 1, 2, 3, 4, 5], [5, 5, 6, 6, 7, 7], Over.RATERS, "other workers, each with conversations"),
        ([0, 0, 0, 1, 1, 1], [5, 6, 7, 5, 6, 7], Over.BOTH, "other conversations and other workers"),
        ([0, 0, 1, 1, 2, 2], [5, 5, 5, 5, 5, 5], Over.CLUSTERS_SAME_RATERS, "others would say is not known"),
        ([0, 0, 0, 0, 0, 0], [5, 5, 6, 6, 7, 7], Over.RATERS_SAME_CLUSTER, "of this one conversation"),
        ([0, 0, 1, 1, 2, 2], [5, 6, 7, 8, 9, 10], Over.CLUSTERS, "other conversations with other workers"),
    ],
)
def test_the_design_of_the_data_decides_what_the_interval_generalises_to(cluster, rater, over, says):
    estimate = mean(sample([1, 0, 1, 1, 0, 1], cluster, rater))

    assert not isinstance(estimate, Undefined)
    assert estimate.over is over
    assert says in estimate.describe_interval().replace("what other workers", "others")


def test_few_clusters_are_reported():
    words = mean(sample([1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 2, 2], [5, 5, 6, 6, 7, 7])).describe_interval()

    assert "only 3 conversations" in words


@pytest.mark.parametrize("answer", [0, 1])
def test_labels_that_are_all_alike_have_the_exact_interval_of_so_many_conversations(answer):
    found = interval(sample([answer] * 24, np.repeat(np.arange(8), 3)))

    theirs = stats.binomtest(8 * answer, 8).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))
    assert found.method == "exact"


def test_ratings_that_are_all_alike_within_a_scale_may_still_have_others_unseen():
    found = interval(sample([4.0] * 10, np.arange(10)), low=1, high=7)

    # Of ten alike clusters the share of others is at most 1 - 0.025^(1/10) = 0.3085; each at an end.
    assert (found.low, found.high) == pytest.approx((4 - 0.3085 * 3, 4 + 0.3085 * 3), abs=1e-3)


def test_conversations_that_happen_to_agree_do_not_give_an_interval_of_no_width():
    found = interval(sample([1, 1, 0] * 4, np.repeat(np.arange(4), 3)))

    assert found.high - found.low > 0.2


@pytest.mark.parametrize("values", [[1, 0], [0.2, 0.9, 1.0], [1] * 30 + [0]])
def test_intervals_stay_within_the_scale(values):
    found = interval(sample(values, np.arange(len(values))))

    assert 0 <= found.low < np.mean(values) < found.high <= 1


def test_one_conversation_of_one_worker_has_no_interval():
    estimate = mean(sample([1, 0], [0, 0], [0, 0]))

    assert not isinstance(estimate, Undefined)
    assert estimate.interval == Undefined(
        "All labels are of one conversation and one worker; an interval needs 2."
    )


def test_no_labels_have_no_mean():
    assert isinstance(mean(sample([], [])), Undefined)


def test_a_value_outside_the_scale_is_refused():
    with pytest.raises(ValueError, match="A value is 5, but the scale is 0"):
        mean(sample([0, 5], [0, 1]))


def test_a_sample_needs_finite_values():
    with pytest.raises(LabelsError, match="Row 2, column values: nan is not a finite number"):
        sample([0, np.nan], [0, 1])


def test_samples_share_codes_and_leave_out_what_was_not_asked():
    found = samples(
        bot=["b", "a", "a", "b", "c"],
        values=[1, 0, np.nan, 0, np.nan],
        cluster=["x", "x", "y", "z", "x"],
        rater=["r", "s", "r", "r", "s"],
    )

    assert list(found) == ["a", "b"]
    assert found["b"].values.tolist() == [1, 0]
    assert found["a"].cluster[0] == found["b"].cluster[0]  # both are context x
    assert found["b"].rater is not None
    assert found["b"].rater.tolist() == [0, 0]


def test_columns_of_different_length_are_refused():
    with pytest.raises(LabelsError, match="2, 3 rows"):
        samples(["a", "a", "a"], [1, 0], ["x", "y", "z"])


def nested(rng, conversations, each):
    """Conversations of workers who have several, both leaning with a deviation of 0.8 logits."""
    worker = np.arange(conversations) // each
    place = 1.2 + 0.8 * rng.normal(size=conversations)[worker] + 0.8 * rng.normal(size=conversations)
    code = np.repeat(np.arange(conversations), 8)
    return Sample((rng.random(len(code)) < expit(place)[code]).astype(float), code, worker[code])


@pytest.mark.parametrize("each", [1, 5, 10])
def test_the_interval_holds_its_level_where_workers_have_several_conversations(each):
    # Mean of expit(1.2 + 0.8 √2 z) over normal z, by Gauss-Hermite quadrature.
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    truth = float(weights @ expit(1.2 + 0.8 * np.sqrt(2) * nodes) / weights.sum())

    held = [truth in interval(nested(np.random.default_rng(seed), 60, each)) for seed in range(400)]

    assert np.mean(held) == pytest.approx(0.95, abs=0.033)  # three standard errors


def test_weights_make_every_item_count_once():
    # Item 0 has labels 1, 0, 0 and item 1 has 1: the mean of the items' means is 2/3, as if of two items.
    weighted = Sample(
        np.array([1.0, 0, 0, 1]), np.array([0, 0, 0, 1]), None, weight=np.array([1 / 3, 1 / 3, 1 / 3, 1])
    )

    assert mean(weighted).value == pytest.approx(2 / 3)
    by_item = weighted.sums.by_cluster
    # Influence of the items: (1/3 - 2/3) / 2 and its opposite; the shares of labels are 3/4 and 1/4.
    assert by_item.sums == pytest.approx([-1 / 6 / np.sqrt(1 / 4), 1 / 6 / np.sqrt(3 / 4)])
