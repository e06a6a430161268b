"""Intervals of ranks against the studentized range, by hand, and their coverage by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from evaluation.statistics.ranks import _critical, _draw, rank_intervals


def ranks(values: list[float], errors: list[float], **options: float) -> list[tuple[int, int]]:
    found = rank_intervals(values, np.diag(np.square(errors)), **options)  # type: ignore[arg-type]
    return [(each.best, each.worst) for each in found]


def test_clear_differences_give_one_rank_each() -> None:
    assert ranks([10, 30, 20], [1, 1, 1]) == [(3, 3), (1, 1), (2, 2)]


def test_systems_that_cannot_be_told_apart_share_their_ranks() -> None:
    # Only the last is clearly worse: 30 / √2 is far beyond 1.96, 1 / √2 is not.
    assert ranks([50, 51, 20], [1, 1, 1]) == [(1, 2), (1, 2), (3, 3)]


def test_two_systems_are_told_apart_at_the_normal_quantile_of_two_sided_tests() -> None:
    beyond = 1.96 * math.sqrt(2)

    assert ranks([0, beyond * 1.02], [1, 1]) == [(2, 2), (1, 1)]
    assert ranks([0, beyond * 0.98], [1, 1]) == [(1, 2), (1, 2)]


@pytest.mark.parametrize("p", [3, 5, 10])
def test_the_critical_value_is_that_of_the_studentized_range(p: int) -> None:
    error = np.full((p, p), math.sqrt(2))

    found = _critical(_draw(np.eye(p), 40_000), error, ~np.eye(p, dtype=bool), 0.95)

    assert found == pytest.approx(stats.studentized_range.ppf(0.95, p, np.inf) / math.sqrt(2), abs=0.03)


def test_an_error_that_systems_share_does_not_blur_their_order() -> None:
    shared = np.full((2, 2), 100.0) + np.eye(2)

    found = rank_intervals([0, 5], shared)

    assert [(each.best, each.worst) for each in found] == [(2, 2), (1, 1)]
    assert ranks([0, 5], [math.sqrt(101)] * 2) == [(1, 2), (1, 2)]


def test_exact_scores_have_exact_ranks_and_ties_share_theirs() -> None:
    assert ranks([1, 2, 2], [0, 0, 0]) == [(3, 3), (1, 2), (1, 2)]


def test_the_true_ranks_are_inside_in_at_least_95_of_100_studies() -> None:
    random = np.random.default_rng(7)
    truth, errors = np.array([0, 0.5, 1, 1.5, 3, 6.0]), np.array([0.5, 1, 0.4, 0.6, 0.5, 1])
    order = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    studies, inside = 400, 0
    for _ in range(studies):
        found = ranks(list(random.normal(truth, errors)), list(errors), draws=2_000)
        inside += all(best <= rank <= worst for (best, worst), rank in zip(found, order, strict=True))

    assert inside / studies >= 0.93  # two standard errors of 400 studies below 0.95


def test_equal_systems_are_told_apart_in_one_of_twenty_studies() -> None:
    random = np.random.default_rng(8)
    wrong = sum(
        any(each != (1, 4) for each in ranks(list(random.normal(0, 1, 4)), [1] * 4, draws=2_000))
        for _ in range(600)
    )

    assert 0.03 <= wrong / 600 <= 0.075


@pytest.mark.parametrize(
    ("values", "covariance", "says"),
    [
        ([1.0, 2.0], [[1.0]], "2 scores need a covariance of 2 rows"),
        ([1.0, math.nan], [[1.0, 0], [0, 1]], "not a finite number"),
        ([0.0] * 61, np.eye(61), "at most 60 systems"),
    ],
)
def test_what_has_no_ranks_is_refused_in_words(values: list[float], covariance: object, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        rank_intervals(values, covariance)  # type: ignore[arg-type]
