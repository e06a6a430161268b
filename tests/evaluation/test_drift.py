import pytest

from evaluation.statistics.drift import Change, Shift, changed_answers, shift


def test_only_repeatable_contexts_that_were_answered_twice_can_change() -> None:
    before = ["a", "b", "c", None, "e"]
    now = ["a", "B", "C", "d", None]

    assert changed_answers(before, now, [True, True, False, True, True]) == [Change(1, "b", "B")]


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        changed_answers(["a"], [], [True])


def test_two_samples_without_overlap_have_shifted() -> None:
    # The largest distance of the two distributions, 1, is reached by two of the C(20, 10) = 184,756
    # ways to deal the 20 values: p = 2 / 184,756.
    found = shift("length", list(range(10)), list(range(10, 20)))

    assert found == Shift("length", 4.5, 14.5, pytest.approx(2 / 184_756))  # type: ignore[arg-type]


def test_seven_values_above_all_others_are_no_alarm_yet() -> None:
    # 10 against 10 with seven above all: distance 0.7, exact p 0.0123 (tables of Smirnov's test for
    # n = m = 10 give 0.7 as the critical value at 2 %, and 0.8 at 1 %), far from 0.001.
    before, now = [float(n) for n in range(10)], [0.5, 1.5, 2.5, *range(20, 27)]

    assert shift("length", before, now) is None


def test_too_few_values_raise_no_alarm() -> None:
    assert shift("length", [1.0] * 9, [2.0] * 50) is None
    assert shift("length", [1.0] * 50, [2.0] * 9) is None
