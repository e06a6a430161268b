"""A bundle's report beside the one from its data: what differs, is not stated, or is not computed."""

from typing import Any

import pytest

from evaluation.report.bundles.differences import Difference, compare

ABOUT: dict[str, Any] = {"labels": 3, "bots": [{"bot": "Ann", "value": 50.0}], "reasons": []}


def test_equal_reports_differ_in_nothing() -> None:
    found = compare(ABOUT, {**ABOUT})

    assert (found.values, found.differences, found.not_stated, found.not_computed) == (4, [], {}, {})


def test_any_difference_of_a_stated_figure_is_reported() -> None:
    found = compare(ABOUT, {**ABOUT, "bots": [{"bot": "Ann", "value": 50.0 + 1e-13}]})

    assert found.differences == [Difference("bots[0].value", 50.0, 50.0 + 1e-13)]


def test_a_figure_with_a_name_of_its_own_can_be_missing_on_either_side() -> None:
    newer = {**ABOUT, "days": {"first": "2026-03-01", "undated": None}}
    newer["bots"] = [{"bot": "Ann", "value": 50.0, "low": 40.0}]
    apart = {"bots[0].low": 40.0, "days.first": "2026-03-01", "days.undated": None}

    older = compare(ABOUT, newer)
    later = compare(newer, ABOUT)

    assert (older.values, older.differences, older.not_stated, older.not_computed) == (4, [], apart, {})
    assert (later.values, later.differences, later.not_stated, later.not_computed) == (4, [], {}, apart)


@pytest.mark.parametrize(
    ("stated", "given", "where"),
    [
        ([], [None], {"x", "x[0]"}),
        ([None], [None, None], {"x[1]"}),
        ([1, 2], [1], {"x[1]"}),
        ({}, {"late": 1}, {"x", "x.late"}),  # that there were none was stated
        ({"late": 1}, [1], {"x.late", "x[0]"}),
        (None, 0, {"x"}),
    ],
)
def test_lists_and_empty_values_are_compared_as_a_whole(
    stated: object, given: object, where: set[str]
) -> None:
    for found in (compare({"x": stated}, {"x": given}), compare({"x": given}, {"x": stated})):
        assert {each.where for each in found.differences} == where
        assert (found.not_stated, found.not_computed) == ({}, {})
