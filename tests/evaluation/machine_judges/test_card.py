"""Figures of a judge card, against calculations by hand and by other functions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluation.assisted.estimates import AssistedEstimate
from evaluation.machine_judges.agreement import EVERY_SYSTEM, agreements, agreements_by, score_errors, thirds
from evaluation.machine_judges.judged import JudgedItems, PartyLabels, answer_of_items, means
from evaluation.machine_judges.together import together
from evaluation.questions import HUMAN_LIKENESS, LIKERT, SSA
from evaluation.rater_agreement.coefficients import krippendorff_alpha
from evaluation.rater_agreement.ratings import Ratings
from evaluation.rater_agreement.reliability import Alpha
from evaluation.statistics.inference import Estimate
from evaluation.statistics.interval import Interval, Undefined


def given(rows: list[tuple[int, int, float]], key: str = "human_like") -> PartyLabels:
    """Labels of one question: item, rater, answer."""
    item, rater, value = zip(*rows, strict=True) if rows else ((), (), ())
    return PartyLabels(
        np.array(item, dtype=int), {key: np.array(value, dtype=float)}, np.array(rater, dtype=int)
    )


def judged(people: Any, judge: Any, systems: str) -> JudgedItems:
    """Items of systems with names of one letter, each of its own context."""
    return JudgedItems(
        HUMAN_LIKENESS,
        np.array(list(systems), dtype=object),
        np.arange(len(systems)),
        given(people),
        given(judge),
    )


def test_the_answer_of_an_item_is_the_majority_or_nothing() -> None:
    question = HUMAN_LIKENESS.question("human_like")
    votes = given([(0, 0, 1), (0, 1, 1), (0, 2, 0), (1, 0, 1), (1, 1, 0), (3, 0, 0)])

    found = answer_of_items(question, votes, 4)

    assert found[0] == 1
    assert np.isnan(found[1])  # one against one
    assert np.isnan(found[2])  # nobody judged it
    assert found[3] == 0


def test_the_answer_of_an_item_on_a_scale_is_the_mean() -> None:
    question = LIKERT.questions[0]
    points = given([(0, 0, 4), (0, 1, 5)], question.key)

    assert answer_of_items(question, points, 1).tolist() == [4.5]


def test_agreement_is_that_of_the_majorities() -> None:
    people = [(0, 0, 1), (1, 0, 1), (2, 0, 0), (3, 0, 0), (4, 0, 1), (5, 0, 1), (5, 1, 0)]
    judge = [(0, 1, 1), (1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 1), (5, 1, 1)]

    every, a, b = agreements(judged(people, judge, "aaabbb"))

    assert (every.system, every.items, a.system, a.items, b.items) == (EVERY_SYSTEM, 5, "a", 3, 2)
    assert every.percent == pytest.approx(80)
    assert isinstance(every.alpha, Alpha)
    both = Ratings.from_columns([0, 1, 2, 3, 4] * 2, [0] * 5 + [1] * 5, [1, 1, 0, 0, 1, 1, 0, 0, 0, 1])
    assert every.alpha.value == pytest.approx(krippendorff_alpha(both))
    assert a.percent == pytest.approx(200 / 3)


def test_without_common_items_there_is_a_reason() -> None:
    [found] = agreements(judged([(0, 0, 1)], [(1, 1, 1)], "aa"))

    assert found.items == 0
    assert isinstance(found.alpha, Undefined)


def test_errors_are_judge_minus_people_each_item_once() -> None:
    people = [(0, 0, 1), (0, 1, 0), (0, 2, 0), (1, 0, 1), (2, 0, 0), (3, 1, 0)]
    judge = [(0, 1, 1), (0, 2, 1), (1, 1, 1), (1, 2, 0), (2, 1, 0), (2, 2, 0), (3, 1, 0), (3, 2, 1)]

    [score] = score_errors(judged(people, judge, "aabb"))

    a, b = score.systems
    assert (a.items, b.items) == (2, 2)
    assert a.judge == pytest.approx((1 + 0.5) / 2)
    assert a.people == pytest.approx((1 / 3 + 1) / 2)
    assert isinstance(a.error, Estimate)
    assert a.error.value == pytest.approx(a.judge - a.people)
    assert score.favours[0].difference == pytest.approx((a.judge - a.people) - (b.judge - b.people))


def drawn(
    seed: int, *, favours: float = 0.0, agree: float = 0.85, items: int = 400, labelled: int = 160
) -> JudgedItems:
    """Two equal systems; the judge says yes to more items of "a"; people judge a random draw of the items."""
    rng = np.random.default_rng(seed)
    truth = rng.random(2 * items) < 0.6
    says = np.where(rng.random(2 * items) < agree, truth, ~truth)
    of_a = np.repeat([True, False], items)
    says = says | (of_a & (rng.random(2 * items) < favours))
    order = rng.permutation(2 * items)[: 2 * labelled]
    people = [(int(i), int(n % 40), float(truth[i])) for n, i in enumerate(order)]
    judge = [(i, 1, float(says[i])) for i in range(2 * items)]
    return judged(people, judge, "a" * items + "b" * items)


def test_a_judge_that_favours_a_system_is_found_out() -> None:
    [score] = score_errors(drawn(1, favours=0.4))

    [pair] = score.favours
    assert (pair.first, pair.second) == ("a", "b")
    assert pair.difference > 0.08
    assert isinstance(pair.p, float)
    assert pair.p < 0.01


def test_a_fair_judge_favours_nobody() -> None:
    ps = [score_errors(drawn(seed))[0].favours[0].p for seed in range(40)]

    assert sum(isinstance(p, float) and p < 0.05 for p in ps) <= 6  # 2 expected; more than 6 in 0.3 %


def test_a_good_judge_is_worth_labels_and_a_favouring_one_moves_nothing() -> None:
    items = drawn(2, favours=0.4)
    [score] = together(items)
    [(first, second, gap)] = score.differences

    a = score.systems["a"]
    assert isinstance(a, AssistedEstimate)
    assert isinstance(a.interval, Interval)
    assert isinstance(a.people_interval, Interval)
    assert 0.6 in a.interval
    assert a.people_value == pytest.approx(_mean_of_people(items, "a"))
    assert (first, second) == ("a", "b")
    assert isinstance(gap, AssistedEstimate)
    assert isinstance(gap.interval, Interval)
    assert 0 in gap.interval
    good = together(drawn(3, agree=0.95))[0].systems["b"]
    assert isinstance(good, AssistedEstimate)
    assert good.worth > 1.3


def _mean_of_people(items: JudgedItems, system: str) -> float:
    of_system = items.system[items.people.item] == system
    return float(items.people.answers["human_like"][of_system].mean())


def test_below_20_items_it_says_that_it_cannot() -> None:
    found = together(drawn(4, items=60, labelled=8))[0].systems["a"]

    assert isinstance(found, Undefined)
    assert "fewer than 20" in found.reason


def test_a_judge_that_always_says_the_same_tells_nothing() -> None:
    items = drawn(5)
    alike = PartyLabels(items.judge.item, {"human_like": np.ones(len(items))}, items.judge.rater)

    found = together(replace(items, judge=alike))[0].systems["a"]

    assert isinstance(found, Undefined)
    assert "every item the same" in found.reason


def test_a_score_of_several_questions_is_taken_label_by_label() -> None:
    answers = {"sensible": np.array([1.0, 1.0, 0.0]), "specific": np.array([1.0, 0.0, 0.0])}
    labels = PartyLabels(np.array([0, 0, 1]), answers, np.array([0, 1, 0]))
    items = JudgedItems(SSA, np.array(["a", "a"], dtype=object), np.arange(2), labels, labels)

    assert means(items.scores_of(SSA.score("ssa"), labels), labels.item, 2).tolist() == [0.75, 0.0]


def test_thirds_keep_equal_lengths_together() -> None:
    found = {name: rows.tolist() for name, rows in thirds(np.array([5, 1, 2, 2, 9, 1200])).items()}

    assert found == {
        "1 to 2": [False, True, True, True, False, False],
        "5 to 5": [True, False, False, False, False, False],
        "9 to 1,200": [False, False, False, False, True, True],
    }
    assert len(thirds(np.array([7, 7, 7]))) == 1
    assert thirds(np.array([], dtype=int)) == {}


def test_agreement_in_a_group_is_that_of_its_items_alone() -> None:
    people = [(0, 0, 1), (1, 0, 1), (2, 0, 0), (3, 0, 0)]
    judge = [(0, 0, 1), (1, 0, 0), (2, 0, 0), (3, 0, 0)]
    groups = {"short": np.array([True, True, False, False]), "long": np.array([False, False, True, True])}

    found = {each.system: each for each in agreements_by(judged(people, judge, "AABB"), groups)}

    assert (found["short"].items, found["short"].percent) == (2, 50)
    assert found["long"].percent == 100
