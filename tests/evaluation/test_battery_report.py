"""Differences within raters and exclusion rules, against SciPy and by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from evaluation.questions import REPLY_IMPRESSION, SSA
from evaluation.report.exclusion import Rules
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.report.studies.battery import AskOfBattery, Battery, battery_figures, proposals
from evaluation.statistics.comparison import Paired, paired
from evaluation.statistics.interval import Undefined

SCALES = ("appropriate", "trustworthy", "friendly")


def test_the_paired_difference_is_that_of_scipy() -> None:
    random = np.random.default_rng(1)
    first, second = random.integers(1, 8, 40).astype(float), random.integers(1, 8, 40).astype(float)
    first[3] = np.nan
    known = ~np.isnan(first)

    found = paired(first, second, level=0.95)

    assert isinstance(found, Paired)
    expected = stats.ttest_rel(first[known], second[known])
    ends = expected.confidence_interval(0.95)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-12)
    assert (found.interval.low, found.interval.high) == pytest.approx((ends.low, ends.high), rel=1e-12)
    assert found.raters == 39


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [([1.0], [2.0], "Raters who judged both: 1"), ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], "All 3 raters differ")],
)
def test_without_variation_or_raters_there_is_no_difference(
    first: list[float], second: list[float], said: str
) -> None:
    found = paired(first, second, level=0.95)

    assert isinstance(found, Undefined)
    assert said in found.reason


def judged(rows: list[tuple[str, str, int, float, float]]) -> tuple[Judged, Any]:
    """Of (rater, system, item, points, seconds), all ratings alike; the same item twice is a repetition."""
    raters, systems, items, points, seconds = zip(*rows, strict=True)
    seen: set[tuple[str, str, int]] = set()
    occasion = []
    for key in zip(raters, systems, items, strict=True):
        occasion.append(1 + (key in seen))
        seen.add(key)
    values = np.array(points, dtype=np.float64)
    found = Judged(
        bot=np.array(systems, dtype=object), dialogue=np.array(items), reply=np.ones(len(items), np.int64),
        rater=np.array(raters, dtype=object), latency_ms=np.full(len(items), np.nan),
        answer_ms=1000 * np.array(seconds), answers=dict.fromkeys(SCALES, values),
        texts={"reason": np.full(len(items), None)},
    )  # fmt: skip
    return found, np.array(occasion)


def battery(**rules: Any) -> Battery:
    return Battery(("A", "B", "C"), ("F",), 2, 1, 0, 4, "A", Rules(**rules))


def rows(rater: str, points: tuple[float, ...], *, again: float, seconds: float = 5) -> list[Any]:
    """One of A, B, C, and two fillers, the first of which comes twice."""
    of = zip(("A", "B", "C", "F", "F"), (1, 2, 3, 4, 5), points, strict=True)
    return [(rater, system, item, given, seconds) for system, item, given in of] + [
        (rater, "F", 4, again, seconds)
    ]


PEOPLE = (
    rows("ann", (6, 2, 5, 4, 4), again=4)
    + rows("ben", (7, 3, 5, 5, 3), again=4)
    + rows("cem", (5, 2, 6, 4, 5), again=7)
    + rows("dot", (4, 4, 4, 4, 4), again=4, seconds=0.5)
)


def test_targets_are_compared_within_raters_with_holm() -> None:
    of, occasion = judged(PEOPLE)

    found = battery_figures(REPLY_IMPRESSION, battery(), of, occasion, Terms(0.95))

    first = {row["target"]: row for row in found["paired"][0]["rows"]}
    a, b, c = [6, 7, 5, 4], [2, 3, 2, 4], [5, 5, 6, 4]
    p = [stats.ttest_rel(other, a).pvalue for other in (b, c)]
    assert [first[name]["difference"] for name in "BC"] == pytest.approx([-2.75, -0.5])
    assert [first[name]["p"] for name in "BC"] == pytest.approx(p)
    corrected = multipletests(p, method="holm")[1]
    assert [first[name]["p_holm"] for name in "BC"] == pytest.approx(corrected)
    assert found["complete"] == 4


def test_repeated_items_measure_agreement_of_raters_with_themselves() -> None:
    of, occasion = judged(PEOPLE)

    row = battery_figures(REPLY_IMPRESSION, battery(), of, occasion, Terms(0.95))["repeats"][0]

    # 4-4, 5-4, 4-7, 4-4. One-way: means 4, 4.5, 5.5, 4 about 4.5; between 2(.25+0+1+.25)/3 = 1,
    # within (0 + .5 + 4.5 + 0)/4 = 1.25; ICC(1) = (1 - 1.25) / (1 + 1.25).
    assert (row["pairs"], row["same"], row["within_one"], row["shift"]) == (4, 50, 75, 0.5)
    assert row["icc"] == pytest.approx(-0.25 / 2.25)


@pytest.mark.parametrize(
    ("rules", "who", "said"),
    [
        ({"repeat_points": 2, "repeat_questions": 2}, ["cem"], "3 of 3 answers are more than 2 points apart"),
        # Sums of dot: 12 six times; of the others they vary by more than 2.
        ({"least_spread": 2.0}, ["dot"], "standard deviation of 0.00 over 6 judgments"),
        ({"least_seconds": 1.0}, ["dot"], "came after 0.5\u00a0s, below 1\u00a0s"),
        # Fillers of ben: 5, 3, 4 at the three places.
        ({"filler_question": "friendly", "filler_least": 4}, ["ben"], "1 of 3 fillers are below 4"),
        ({"filler_question": "friendly", "filler_least": 4, "filler_misses": 1}, [], ""),
        ({}, [], ""),
    ],
)
def test_each_rule_proposes_the_matching_workers(rules: dict[str, Any], who: list[str], said: str) -> None:
    of, occasion = judged(PEOPLE)

    found = proposals(battery(**rules), [AskOfBattery(REPLY_IMPRESSION, of, occasion)])

    assert [row["worker"] for row in found["workers"]] == who
    assert all(said in row["reason"] for row in found["workers"])
    assert len(found["rules"]) == (1 if rules else 0)


def test_rules_look_at_each_ask_by_itself_and_a_worker_is_proposed_once() -> None:
    of, occasion = judged(PEOPLE)
    ratings = AskOfBattery(REPLY_IMPRESSION, of, occasion)
    no_ratings = AskOfBattery(
        SSA, replace(of, answers=dict.fromkeys(("sensible", "specific"), np.ones(len(of)))), occasion
    )

    found = proposals(battery(least_spread=2.0, least_seconds=1.0), [ratings, no_ratings])

    # Of questions that are no ratings nobody's spread is looked at; haste is, by each.
    assert [row["worker"] for row in found["workers"]] == ["dot"]
    (reason,) = (row["reason"] for row in found["workers"])
    assert reason.count("standard deviation of 0.00") == 1
    assert reason.count("came after 0.5\u00a0s") == 2
    assert f"By “{SSA.title}”: The median" in reason
    assert len(found["rules"]) == 2
