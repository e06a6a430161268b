"""Comparisons against exhaustive permutation, textbook corrections and planted differences."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from evaluation.statistics.bootstrap import SENSIBLENESS, SSA, Ratio
from evaluation.statistics.comparison import Comparison, compare, compare_all, holm, with_holm
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import Labels
from evaluation.statistics.permutation import paired_permutation, permutation

MEAN = Ratio((1.0, 0.0), 1)
FIRST = np.array([[5.0, 1], [7, 1], [9, 1], [4, 1]])
SECOND = np.array([[3.0, 1], [4, 1], [6, 1], [5, 1]])


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def planted(bots: dict[str, float], dialogues: int, *, seed: int = 1) -> Labels:
    """Seven turns per dialogue, one rater each, sensible at the planted rate, specific half as often."""
    draw = rng(seed)
    rows = [
        (
            bot,
            f"c{d}",
            turn,
            "rita",
            sensible := bool(draw.random() < rate),
            sensible and bool(draw.random() < 0.5),
        )
        for bot, rate in bots.items()
        for d in range(dialogues)
        for turn in range(7)
    ]
    return Labels.from_rows(rows)


def test_equal_differences_of_thirds_are_ties():
    # Single precision rounds thirds, so that dealings as extreme as the observed one fell short of it.
    both = np.array([0, 3, 0, 1, 1, 2, 1, 2]) / 3
    thirds = [np.column_stack([half, np.ones(4)]) for half in (both[:4], both[4:])]
    observed = abs(both[:4].mean() - both[4:].mean())
    dealings = [
        abs(both[list(chosen)].mean() - np.delete(both, chosen).mean()) >= observed - 1e-12
        for chosen in combinations(range(8), 4)
    ]

    assert permutation(thirds, [(0, 1)], rng(), 40_000) == pytest.approx([np.mean(dealings)], abs=0.01)


def test_permutation_p_value_equals_all_dealings():
    both = np.vstack([FIRST, SECOND])[:, 0]
    observed = abs(FIRST[:, 0].mean() - SECOND[:, 0].mean())
    dealings = [
        abs(both[list(chosen)].mean() - np.delete(both, chosen).mean()) >= observed - 1e-12
        for chosen in combinations(range(8), 4)
    ]

    assert permutation([FIRST, SECOND], [(0, 1)], rng(), 40_000) == pytest.approx(
        [np.mean(dealings)], abs=0.01
    )


def test_permutation_of_repeated_rows_equals_fishers_exact_test():
    # 30 conversations that are wholly sensible or not: the two-sided exact test of a 2 x 2 table.
    first = np.repeat([[1.0, 1], [0, 1]], [12, 3], axis=0)
    second = np.repeat([[1.0, 1], [0, 1]], [6, 9], axis=0)
    exact = stats.fisher_exact([[12, 3], [6, 9]]).pvalue  # type: ignore[arg-type]

    assert permutation([first, second], [(0, 1)], rng(), 40_000) == pytest.approx([exact], abs=0.01)


def test_paired_p_value_equals_all_sign_flips():
    gap = FIRST[:, 0] - SECOND[:, 0]
    table = np.stack([FIRST, SECOND], axis=1)
    flips = [abs(np.dot(signs, gap)) >= abs(gap.sum()) - 1e-12 for signs in product((-1, 1), repeat=4)]

    assert paired_permutation(table, [(0, 1)], rng(), 40_000) == pytest.approx([np.mean(flips)], abs=0.01)


def test_a_p_value_is_never_zero():
    apart = [np.column_stack([np.full(30, score), np.ones(30)]) for score in (0.0, 9.0)]

    assert permutation(apart, [(0, 1)], rng(), 999) == pytest.approx([0.001])
    assert paired_permutation(np.stack(apart, axis=1), [(0, 1)], rng(), 999) == pytest.approx([0.001])


def test_holm_on_a_hand_worked_list():
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, then never falling
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_pairing_on_common_contexts_gives_a_shorter_interval():
    draw = rng(2)
    easy = draw.beta(2, 1, 200)
    rows = [
        (bot, f"c{c}", 0, f"r{r}", bool(draw.random() < easy[c] * rate), False)
        for bot, rate in (("a", 1.0), ("b", 0.8))
        for c in range(200)
        for r in range(5)
    ]
    labels = Labels.from_rows(rows)

    paired, unpaired = (compare_all(labels, rng(), ratio=SENSIBLENESS, paired=p)[0] for p in (True, False))

    assert paired.difference == pytest.approx(unpaired.difference)
    assert paired.interval.high - paired.interval.low < 0.8 * (unpaired.interval.high - unpaired.interval.low)
    assert paired.clusters == (200, 200)


def test_only_common_contexts_are_paired():
    labels = planted({"a": 0.9, "b": 0.6}, 20)
    without = labels.where(~((labels.bot == "b") & np.isin(labels.dialogue, ["c0", "c1"])))

    assert compare_all(without, rng(), paired=True)[0].clusters == (18, 18)


def test_a_simulated_difference_is_found_and_put_in_words():
    comparison = compare_all(planted({"good": 0.9, "poor": 0.5}, 60), rng())[0]

    assert comparison.p_holm < 0.01
    assert comparison.sentence().startswith("good is ahead of poor by ")


def test_every_pair_is_compared_once_and_corrected_together():
    comparisons = compare_all(planted({"c": 0.8, "a": 0.8, "b": 0.5}, 40), rng())

    assert [(c.first, c.second) for c in comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [c.p_holm for c in comparisons] == pytest.approx(holm([c.p for c in comparisons]))  # type: ignore[misc]


def a_comparison(low: float, high: float, p_holm: float = 0.001, p: float = 0.001) -> Comparison:
    interval = Interval(low, high, 0.95, "percentile", 10_000)
    return Comparison("A", "B", (low + high) / 2, interval, p, p_holm, False, (100, 100))


def test_words_state_the_difference_in_points():
    assert (
        a_comparison(0.012, 0.07).sentence()
        == "A is ahead of B by 4.1 points, 95\u00a0% interval 1.2 to 7.0."
    )
    assert (
        a_comparison(-0.07, -0.012).sentence()
        == "B is ahead of A by 4.1 points, 95\u00a0% interval 1.2 to 7.0."
    )


def test_words_say_if_bots_are_indistinguishable():
    assert a_comparison(-0.02, 0.046, p=0.4).sentence() == (
        "A and B cannot be told apart: 1.3 points apart, 95\u00a0% interval -2.0 to 4.6."
    )


def test_words_warn_if_the_correction_removes_the_difference():
    assert "may be chance (Holm-corrected p = 0.12)" in a_comparison(0.01, 0.09, p_holm=0.12).sentence()


def test_one_conversation_is_no_comparison():
    comparison = compare(FIRST[:1], SECOND, rng(), ratio=MEAN)

    assert isinstance(comparison.p, Undefined)
    assert "1 and 4 conversations" in comparison.sentence()
    assert with_holm([comparison, replace(a_comparison(0, 1), p=0.5)])[1].p_holm == 0.5


def test_fewer_than_two_bots_have_no_comparisons():
    assert compare_all(planted({"a": 0.5}, 5), rng()) == []
    assert compare_all(Labels.from_rows([]), rng()) == []


def test_identical_bots_on_the_same_contexts_have_no_interval_but_a_p_value_of_one():
    comparison = compare(np.tile(FIRST, 2)[:, :2], FIRST, rng(), ratio=MEAN, paired=True)

    assert comparison.p == 1
    assert isinstance(comparison.interval, Undefined)


def test_unpaired_interval_of_ssa_is_centred_on_the_difference():
    comparison = compare_all(planted({"a": 0.8, "b": 0.7}, 200), rng(), ratio=SSA)[0]

    middle = (comparison.interval.low + comparison.interval.high) / 2
    assert middle == pytest.approx(comparison.difference, abs=0.005)


def scattered(conversations: int, *, mean: float, seed: int) -> np.ndarray:
    return np.column_stack([rng(seed).normal(mean, 1, conversations), np.ones(conversations)])


def test_bundled_conversations_give_the_same_result_as_single_ones():
    # 640 conversations each are dealt in bundles of four; the t test of single conversations is the peer.
    first, second = scattered(640, mean=0.1, seed=1), scattered(643, mean=0, seed=2)
    exact = stats.ttest_ind(first[:, 0], second[:, 0]).pvalue

    found = [permutation([first, second], [(0, 1)], rng(seed), 2_000)[0] for seed in range(30)]

    # one random bundling moves the p-value; their median is that of single conversations
    assert 0.005 < exact < 0.05
    assert np.median(found) == pytest.approx(exact, rel=0.35)


def test_bundles_keep_the_error_rate():
    p_values = [
        permutation(
            [scattered(260, mean=0, seed=2 * n), scattered(300, mean=0, seed=2 * n + 1)],
            [(0, 1)],
            rng(n),
            200,
        )[0]
        for n in range(400)
    ]

    # 5 % of 400 are 20; the binomial's 99.9 % range is 8 to 36
    assert 8 <= np.count_nonzero(np.asarray(p_values) <= 0.05) <= 36


def test_small_and_large_studies_are_compared_in_one_go():
    rows = [scattered(n, mean=mean, seed=n) for n, mean in ((20, 3.0), (300, 0.0), (900, 0.0))]

    p_values = permutation(rows, [(0, 1), (0, 2), (1, 2)], rng(), 999)

    assert p_values[:2] == pytest.approx([0.001, 0.001])
    assert p_values[2] > 0.02


def test_many_pairs_get_enough_permutations_for_holm():
    # 45 pairs: with 1,000 permutations the smallest corrected p-value would be 45 / 1001 = 0.045.
    comparisons = compare_all(planted({f"b{n}": n / 9 for n in range(10)}, 12), rng(), resamples=1_000)

    assert len(comparisons) == 45
    assert min(c.p_holm for c in comparisons) == pytest.approx(45 / (1 + 40 * 45))  # type: ignore[type-var]
