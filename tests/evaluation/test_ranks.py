"""Intervals of ranks against the studentized range, by hand, and their coverage by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from evaluation.report.ranks import LinkedStudy, ranks_of, ranks_of_linked
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


def stored(values: dict[str, float], errors: dict[tuple[str, str], float], level: float = 0.95) -> dict:
    """Rows of a stored report with one score: systems, and differences with normal intervals."""
    z = stats.norm.ppf((1 + level) / 2)
    comparisons = [
        {
            "score": "main", "first": a, "second": b, "difference": values[a] - values[b],
            "low": values[a] - values[b] - z * error, "high": values[a] - values[b] + z * error,
        }
        for (a, b), error in errors.items()
    ]  # fmt: skip
    bots = [{"bot": name, "cells": [{"value": value}]} for name, value in values.items()]
    return ranks_of(bots, comparisons, column=0, score="main", level=level)


def test_ranks_of_a_report_follow_from_its_differences_alone() -> None:
    # Independent scores with errors 1, 2 and 3: the same ranks as from their covariance.
    values, errors = {"A": 0.0, "B": 7.5, "C": 15.0}, {"A": 1.0, "B": 2.0, "C": 3.0}
    pairs = {(a, b): math.hypot(errors[a], errors[b]) for a, b in (("A", "B"), ("A", "C"), ("B", "C"))}

    found = stored(values, pairs)

    direct = ranks([0.0, 7.5, 15.0], [1.0, 2.0, 3.0])
    assert [(each["best"], each["worst"]) for each in found.values()] == direct
    assert found["A"] == {"best": 3, "worst": 3}


def test_a_report_has_no_ranks_where_a_difference_has_no_interval() -> None:
    bots = [{"bot": name, "cells": [{"value": 50.0}]} for name in "AB"]
    comparison = {"score": "main", "first": "A", "second": "B", "difference": 0.0}

    assert ranks_of(bots, [comparison], column=0, score="main", level=0.95) == {}
    assert ranks_of(bots[:1], [], column=0, score="main", level=0.95) == {}


@pytest.mark.parametrize(("gap", "link", "clear"), [(5.0, 0.0, True), (5.0, 2.0, False), (7.0, 2.0, True)])
def test_ranks_of_linked_studies_have_the_linking_error_between_studies_only(gap, link, clear):
    """Two studies with errors of 1.5: the error between them is √(2 · 1.5² + 2 · link²), times 1.96."""
    errors = {"a": math.hypot(1.5, link)}
    studies = [LinkedStudy({"a": 60.0 + gap}, errors, link), LinkedStudy({"a": 60.0}, errors, link)]

    (first, second) = ranks_of_linked(studies, level=0.95)

    assert (gap > 1.96 * np.sqrt(2 * 1.5**2 + 2 * link**2)) == clear
    assert first["a"] == {"best": 1, "worst": 1 if clear else 2}
    assert second["a"] == {"best": 2 if clear else 1, "worst": 2}
    # Within a study, the same link cancels however large its error is.
    halves = [("a", "b", 1.96 * 1.0)]
    alone = LinkedStudy({"a": 65.0, "b": 60.0}, {"a": 50.0, "b": 50.0}, 50.0, halves)
    (both,) = ranks_of_linked([alone], level=0.95)
    assert both["a"] == {"best": 1, "worst": 1}
