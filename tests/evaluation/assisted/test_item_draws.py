"""Uncertainty of a judge, draws after one another, and what a draw is worth."""

import numpy as np
import pytest

from evaluation.assisted.drawing import draw, probabilities
from evaluation.assisted.item_draws import (
    ItemDraws,
    draw_more,
    expected_gain,
    probabilities_within,
    shares,
)
from evaluation.assisted.samples import AssistedSample
from evaluation.assisted.uncertainty import by_answers, by_errors, of_scores


def test_uncertainty_by_answers_is_that_of_a_share_with_half_an_answer_at_each_end():
    answers = np.array([1, 1, 1, 1, 0, 1, np.nan])
    item = np.array([0, 0, 0, 1, 1, 1, 2])

    found = by_answers(answers, item, 3)

    share = np.array([3.5 / 4, 2.5 / 4])
    assert found[:2] == pytest.approx(np.sqrt(share * (1 - share)))
    assert found[2] == 0.5  # no answer


def test_uncertainty_by_errors_is_large_where_the_judge_was_wrong():
    judge = np.array([0.0] * 40 + [1.0] * 40 + [np.nan])
    people = np.full(81, np.nan)
    people[:20] = 0.0  # it is right about no,
    people[40:60] = [0.0, 1.0] * 10  # and half of the time wrong about yes

    found = by_errors(judge, people)

    overall = 10 / 40
    assert found[0] == pytest.approx(np.sqrt((0 + 5 * overall) / 25))
    assert found[40] == pytest.approx(np.sqrt((10 + 5 * overall) / 25))
    assert found[-1] == 0.5
    with pytest.raises(ValueError, match="labelled 29 items"):
        by_errors(judge, np.where(np.arange(81) < 29, 0.0, np.nan))


def test_uncertainty_over_scores_is_the_root_of_the_mean_square():
    assert of_scores([np.array([0.3]), np.array([0.4])]) == pytest.approx([np.sqrt(0.125)])


def test_each_stratum_has_as_many_items_as_the_others_or_all_of_its():
    assert shares(10, {"a": 100, "b": 2, "c": 100}) == {"b": 2, "a": 4, "c": 4}
    stratum = np.array(["a"] * 30 + ["b"] * 4, dtype=object)

    found = probabilities_within(np.ones(34), stratum, 14)

    assert found[:30].sum() == pytest.approx(10)
    assert found[30:] == pytest.approx(1)
    with pytest.raises(ValueError, match="items=1 is not from 2"):
        probabilities_within(np.ones(34), stratum, 1)


def test_over_two_draws_each_item_is_drawn_as_often_as_the_second_probability_says(rng):
    uncertainty, stratum = rng.random(24), np.array(["a", "b"] * 12, dtype=object)
    first, second = (probabilities_within(uncertainty, stratum, n) for n in (6, 13))
    assert (second >= first).all()
    counts = np.zeros((2, 24))
    for _ in range(4_000):
        drawn = draw_more(np.zeros(24), first, np.zeros(24, dtype=bool), stratum, rng)
        added = draw_more(first, second, drawn, stratum, rng)
        assert not (drawn & added).any()
        counts += drawn, drawn | added

    assert counts[0] / 4_000 == pytest.approx(first, abs=0.04)
    assert counts[1] / 4_000 == pytest.approx(second, abs=0.04)


@pytest.mark.parametrize(("before", "now"), [(0.5, 0.4), (0.0, 0.0), (0.0, 1.1)])
def test_a_probability_that_falls_or_is_none_is_refused(before, now, rng):
    with pytest.raises(ValueError, match="new probability"):
        draw_more(np.array([before]), np.array([now]), np.array([False]), np.array(["a"], dtype=object), rng)


def test_what_people_have_judged_half_way_is_as_probable_as_they_have_judged_of_each_draw():
    draws = ItemDraws(
        np.array([[1.0, 0.2, 0.2, 0.4, 0.4], [1.0, 0.5, 0.5, 0.8, 0.8]]),
        np.array([1, 1, 1, 2, 0]),
        np.array([True, False, False, False, False]),
    )

    assert draws.of_judged(np.array([True, True, False, False, False])) == pytest.approx(
        [1.0, 0.1, 0.1, 0.2, 0.2]
    )
    done = draws.of_judged(np.array([True, True, True, True, False]))
    assert done == pytest.approx([1.0, 0.5, 0.5, 0.8, 0.8])


def test_the_worth_of_a_draw_is_that_of_many_simulated_ones(rng):
    """Horvitz-Thompson totals of errors as large as the judge's uncertainty says, for both draws."""
    size, wanted = 400, 80
    uncertainty = np.where(rng.random(size) < 0.7, 0.05, 0.5)
    chance = probabilities(uncertainty, wanted)
    found = expected_gain(uncertainty, chance, np.full(size, 0.5))
    totals: dict[str, list[float]] = {"by": [], "even": []}
    for _ in range(6_000):
        errors = uncertainty * rng.choice([-1, 1], size)
        for name, used in (("by", chance), ("even", np.full(size, wanted / size))):
            drawn = draw(used, rng)
            totals[name].append(float((errors[drawn] / used[drawn]).sum()))

    ratio = np.var(totals["even"]) / np.var(totals["by"])

    assert found.evenly / found.items == pytest.approx(ratio, rel=0.08)
    assert found.people_alone == pytest.approx(found.evenly)  # a judge that says the same of all items


def test_the_design_effect_is_the_ratio_of_explicit_sums():
    chance = np.array([0.2, 0.5, 1.0, 0.4])
    sample = AssistedSample(
        np.arange(4), np.array([0.1, 0.9, 0.5, 0.2]), np.array([0, 1, 1, 2]), np.array([0.0, 1.0, 0.0, 1.0]),
        np.array([0, 0, 1, 0]), probability=chance,
    )  # fmt: skip
    values, weights = [0.0 - 0.05, 0.5 - 0.45, 1.0 - 0.25], [5.0, 2.0, 1.0]
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / 8
    squares = [(v - mean) ** 2 for v in values]
    unequal = sum(w**2 * s for w, s in zip(weights, squares, strict=True)) / 8**2
    even = sum(w * s for w, s in zip(weights, squares, strict=True)) / 8 / 3

    assert sample.design_effect(0.5) == pytest.approx(unequal / even)
    equal = AssistedSample(sample.cluster, sample.judge, sample.item, sample.value, sample.rater)
    assert equal.design_effect() == pytest.approx(1)
