"""AC1 and intraclass correlations: published examples and limits."""

import numpy as np
import pytest

from evaluation.rater_agreement.ratings import Ratings
from evaluation.rater_agreement.reliability import gwet_ac1, intraclass
from evaluation.statistics.interval import Undefined

# Shrout & Fleiss 1979, table 2: six targets, four judges.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def test_intraclass_correlations_of_shrout_and_fleiss():
    found = intraclass(Ratings.from_matrix(np.transpose(SHROUT_FLEISS)))

    # Table 4 of the paper: ICC(1,1) .17, ICC(2,1) .29, ICC(3,1) .71, ICC(2,4) .62
    assert (found.one_way, found.agreement) == pytest.approx((0.17, 0.29), abs=0.005)
    assert (found.consistency, found.of_means) == pytest.approx((0.71, 0.62), abs=0.006)
    # Intervals of R's psych::ICC for the same table.
    assert (found.one_way_interval.low, found.one_way_interval.high) == pytest.approx(
        (-0.13, 0.72), abs=0.005
    )
    assert (found.consistency_interval.low, found.consistency_interval.high) == pytest.approx(
        (0.34, 0.95), abs=0.005
    )


def test_missing_ratings_have_no_intraclass_correlation():
    found = intraclass(Ratings.from_matrix([[1, 2, 3], [1, 2, float("nan")]]))  # type: ignore[arg-type]

    assert isinstance(found, Undefined)
    assert "1 of 6 ratings are missing" in found.reason


def test_equal_ratings_have_no_intraclass_correlation():
    assert isinstance(intraclass(Ratings.from_matrix([[2, 2], [2, 2]])), Undefined)


def test_ac1_of_a_skewed_table_by_hand():
    # 118 yes-yes, 5 yes-no, 2 no-yes, 0 no-no: 118 of 125 agree. Share of yes 243/250, so chance is
    # 2 · 0.972 · 0.028 = 0.054432, and AC1 = (0.944 - 0.054432) / (1 - 0.054432).
    first = [1] * 118 + [1] * 5 + [0] * 2
    second = [1] * 118 + [0] * 5 + [1] * 2

    assert gwet_ac1(Ratings.from_matrix([first, second])) == pytest.approx((0.944 - 0.054432) / 0.945568)


def test_ac1_counts_units_with_missing_ratings_once():
    nan = float("nan")
    # Units: (a, a), (a, b, b) and (b, -): observed (1 + 1/3) / 2; share of a is (1 + 1/3 + 0) / 3 = 4/9,
    # chance 2 · 4/9 · 5/9 = 40/81.
    found = gwet_ac1(Ratings.from_matrix([[0, 0, 1], [0, 1, nan], [nan, 1, nan]]))  # type: ignore[arg-type]

    assert found == pytest.approx((2 / 3 - 40 / 81) / (41 / 81))


def test_one_category_has_no_ac1():
    assert isinstance(gwet_ac1(Ratings.from_matrix([[1, 1], [1, 1]])), Undefined)
