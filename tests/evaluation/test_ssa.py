"""SSA against hand calculation."""

import math

import pytest

from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import Labels
from evaluation.statistics.ssa import (
    Unit,
    dialogue_sums,
    score_of_sums,
    ssa,
    ssa_by_rater,
    ssa_by_turn,
    ssa_over_runs,
)

# One bot, three items. Votes (sensible/specific of raters):
#   d1 turn 2: 3/2 of 3      d1 turn 4: 1/0 of 2      d2 turn 2: 1/1 of 1
ROWS = [
    ("b", "d1", 2, "wanda", True, True),
    ("b", "d1", 2, "rita", True, True),
    ("b", "d1", 2, "rex", True, False),
    ("b", "d1", 4, "wanda", True, False),
    ("b", "d1", 4, "rita", False, False),
    ("b", "d2", 2, "rex", True, True),
]
LABELS = Labels.from_rows(ROWS)


@pytest.mark.parametrize(
    ("unit", "sensibleness", "specificity"),
    [
        (Unit.LABEL, 5 / 6, 3 / 6),
        (Unit.ITEM_MEAN, (1 + 1 / 2 + 1) / 3, (2 / 3 + 0 + 1) / 3),
        (Unit.MAJORITY, 2 / 3, 2 / 3),  # one of two votes is no strict majority
    ],
)
def test_scores_of_a_hand_worked_table(unit, sensibleness, specificity):
    score = ssa(LABELS, unit)["b"]

    assert score.sensibleness == pytest.approx(sensibleness)
    assert score.specificity == pytest.approx(specificity)
    assert score.ssa == pytest.approx((sensibleness + specificity) / 2)
    assert (score.labels, score.turns, score.dialogues, score.raters) == (6, 3, 2, 3)


def test_generic_bot_of_the_paper_scores_35():
    # Always "ok": 70 % sensible, never specific; SSA is the simple average.
    rows = [("generic", f"c{i}", 0, "rita", i < 70, False) for i in range(100)]

    assert ssa(Labels.from_rows(rows))["generic"].ssa == pytest.approx(0.35)


def test_bots_are_scored_separately_and_bots_without_labels_are_left_out():
    scores = ssa(Labels.from_rows([*ROWS, ("a", "d1", 2, "wanda", False, False)]))

    assert list(scores) == ["a", "b"]
    assert scores["a"].sensibleness == 0
    assert scores["b"].sensibleness == pytest.approx(5 / 6)
    assert ssa(Labels.from_rows([])) == {}


def test_scores_by_rater_use_that_raters_labels_only():
    scores = ssa_by_rater(LABELS)

    assert {rater: (s.sensibleness, s.labels) for rater, s in scores.items()} == {
        "rex": (1.0, 2),
        "rita": (0.5, 2),
        "wanda": (1.0, 2),
    }


def test_scores_by_turn_position():
    by_turn = ssa_by_turn(LABELS, Unit.ITEM_MEAN)["b"]

    assert list(by_turn) == [2, 4]
    assert by_turn[2].specificity == pytest.approx((2 / 3 + 1) / 2)
    assert by_turn[4].ssa == pytest.approx(0.25)
    assert by_turn[2].turns == 2


def test_the_deviation_over_runs_divides_by_one_less_than_the_runs():
    runs = [
        Labels.from_rows([("b", "c", 0, "r", True, bool(k)), ("b", "d", 0, "r", True, False)])
        for k in (0, 1, 1)
    ]

    # specificity 0, 1/2, 1/2: mean 1/3, variance (1/9 + 1/36 + 1/36) / 2 = 1/12
    specificity = ssa_over_runs(runs)["b"].specificity

    assert specificity.mean == pytest.approx(1 / 3)
    assert specificity.deviation == pytest.approx(math.sqrt(1 / 12))
    assert specificity.runs == 3


def test_a_single_run_has_no_deviation():
    deviation = ssa_over_runs([LABELS])["b"].ssa.deviation

    assert isinstance(deviation, Undefined)
    assert "at least two" in deviation.reason


@pytest.mark.parametrize("unit", list(Unit))
def test_sums_over_conversations_add_up_to_the_score(unit):
    sums, bots = dialogue_sums(LABELS, unit)
    score = ssa(LABELS, unit)["b"]

    assert bots.tolist() == [0, 0]
    assert score_of_sums(sums.sum(axis=0)).tolist() == pytest.approx(
        [score.sensibleness, score.specificity, score.ssa]
    )


def test_the_order_of_rows_does_not_matter():
    assert ssa(Labels.from_rows(ROWS[::-1]), Unit.ITEM_MEAN)["b"].ssa == pytest.approx(
        ssa(LABELS, Unit.ITEM_MEAN)["b"].ssa
    )
