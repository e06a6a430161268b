"""Two groups of raters on the same items, against counts by hand."""

import math

import numpy as np
import pytest

from evaluation.questions import SSA
from evaluation.rater_agreement.kappa import Kappa, cohen_kappa
from evaluation.report.studies.rater_groups import Group, compared_groups
from evaluation.statistics.differences import difference
from evaluation.statistics.inference import Sample
from evaluation.statistics.labels import FloatArray

NAN = math.nan


def group(votes: dict[int, list[float]], *, raters_from: int = 0, second: float = 1.0) -> Group:
    """By item, what each rater says to the first question; items 2n and 2n + 1 are of one context."""
    rows = [
        (item, item // 2, raters_from + rater, vote)
        for item, given in votes.items()
        for rater, vote in enumerate(given)
    ]
    item, cluster, rater, vote = (np.array(column) for column in zip(*rows, strict=True))
    answers: dict[str, FloatArray] = {
        question.key: np.where(np.isnan(vote), NAN, vote if number == 0 else second * vote)
        for number, question in enumerate(SSA.questions)
    }
    return Group(item.astype(np.int64), cluster.astype(np.int64), rater.astype(np.int64), answers)


FIRST = group({0: [1, 1, 1], 1: [1, 1, 0], 2: [0, 0, 0], 3: [1, 0, 0], 9: [1, 1, 1]})
SECOND = group({0: [1, 1, 1], 1: [0, 0, 1], 2: [0, 0, 0], 3: [1, 0, 0], 8: [0, 0, 0]}, raters_from=3)


def compared(first: Group, second: Group) -> list[dict[str, object]]:
    return compared_groups(SSA, first, second, np.random.default_rng(1), resamples=200)


def test_only_what_both_judged_is_counted() -> None:
    found = compared(FIRST, SECOND)[0]

    # Items 0 to 3. First group: 3 + 2 + 0 + 1 of 12; second: 3 + 1 + 0 + 1 of 12.
    assert found["items"] == 4
    assert found["first"]["value"] == pytest.approx(50)  # type: ignore[index]
    assert found["second"]["value"] == pytest.approx(500 / 12)  # type: ignore[index]
    assert found["difference"]["value"] == pytest.approx(100 / 12)  # type: ignore[index]


def test_the_difference_is_over_contexts_and_raters_as_in_every_report() -> None:
    columns = [
        (np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0.0]), np.tile([0, 1, 2], 4)),
        (np.array([1, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0.0]), np.tile([3, 4, 5], 4)),
    ]
    cluster = np.repeat([0, 0, 1, 1], 3)
    expected = difference(*(Sample(values, cluster, rater) for values, rater in columns), low=0, high=1)

    found = compared(FIRST, SECOND)[0]["difference"]

    ends = (100 * expected.interval.low, 100 * expected.interval.high)  # type: ignore[union-attr]
    assert (found["low"], found["high"]) == pytest.approx(ends)  # type: ignore[index]


def test_majorities_of_both_groups_are_compared() -> None:
    found = compared(FIRST, SECOND)

    # Majorities of the first group: yes, yes, no, no; of the second: yes, no, no, no.
    by_hand = cohen_kappa([[2, 0], [1, 1]])
    assert isinstance(by_hand, Kappa)
    agreement = found[0]["agreement"]
    assert (agreement["items"], agreement["agree"]) == (4, 75)  # type: ignore[index]
    assert agreement["kappa"] == pytest.approx(by_hand.value) == pytest.approx(0.5)  # type: ignore[index]
    assert "agreement" not in found[-1]  # an average is neither yes nor no


def test_a_tie_is_no_majority() -> None:
    first, second = group({0: [1, 0], 1: [1, 1]}), group({0: [1, 1], 1: [1, 0]}, raters_from=2)

    agreement = compared(first, second)[0]["agreement"]

    assert agreement == {"items": 0, "undefined": "No item has a majority in both groups."}


def test_without_common_items_there_is_no_comparison() -> None:
    first, second = group({0: [1, 1], 1: [NAN, NAN]}), group({1: [1, 1]}, raters_from=2)

    assert compared(first, second)[0] == {"title": SSA.scores[0].title, "items": 0}
