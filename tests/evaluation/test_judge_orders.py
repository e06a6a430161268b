"""Labels of pairs in both orders, against calculation by hand."""

import numpy as np
import pytest

from evaluation.machine_judges.judged import JudgedItems, PartyLabels
from evaluation.machine_judges.orders import in_order_of_names, order_biases, settled
from evaluation.machine_judges.template import ItemText, SideText, example_items, instructions, is_seen
from evaluation.questions import question_set
from evaluation.statistics.inference import Estimate

SET = question_set("preference")
FIRST, SECOND, TIED = 0.0, 1.0, 2.0


def _labels(shown: list[tuple[int, bool, float]]) -> PartyLabels:
    item, swapped, codes = (np.array(column) for column in zip(*shown, strict=True))
    return PartyLabels(item, {"better": codes}, np.ones(len(shown), dtype=np.int64), swapped)


def test_both_orders_give_one_label_and_the_bias_is_that_of_a_hand_calculation() -> None:
    # As shown: item 0 agrees; item 1 says first twice; item 2 a tie and the first; item 3 has one order only.
    shown = _labels(
        [(0, False, FIRST), (0, True, SECOND), (1, False, FIRST), (1, True, FIRST), (2, False, TIED),
         (2, True, FIRST), (3, False, FIRST)]
    )  # fmt: skip
    given = in_order_of_names(SET, shown, np.zeros(4, dtype=np.bool_))

    label = settled(SET, given)

    assert label.item.tolist() == [0, 1, 2]
    assert label.answers["better"].tolist() == [FIRST, TIED, TIED]
    judged = JudgedItems(SET, np.array(["A against B"] * 4), np.arange(4), label, label, given)
    [bias] = order_biases(judged)
    assert bias.pairs == 3
    assert isinstance(bias.flips, Estimate)
    assert isinstance(bias.for_first_shown, Estimate)
    assert bias.flips.value == pytest.approx(2 / 3)
    assert bias.for_first_shown.value == pytest.approx((1 / 2 + 1 + 3 / 4) / 3)


def test_stored_sides_are_turned_to_the_order_of_the_names() -> None:
    shown = _labels([(0, False, FIRST), (0, True, FIRST), (1, False, SECOND)])

    turned = in_order_of_names(SET, shown, np.array([True, False]))

    assert turned.answers["better"].tolist() == [SECOND, FIRST, SECOND]
    assert turned.swapped is not None
    assert turned.swapped.tolist() == [True, False, False]


def test_worked_examples_of_pairs_are_in_the_prompt_and_recognised_in_any_order() -> None:
    assert "I like music." in instructions(SET, of_pairs=True)
    assert "I like music." not in instructions(SET)
    example = example_items(SET)[0]
    mirrored = ItemText(example.before, sides=list(reversed(example.sides)))
    assert is_seen(mirrored, example_items(SET))
    assert not is_seen(ItemText(example.before, sides=[SideText(["No."]), SideText(["Yes."])]), [example])
