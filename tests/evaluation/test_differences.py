"""Differences between systems: SciPy's t tests, pairing, one decision for interval, p-value and words."""

from collections.abc import Hashable

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from evaluation.statistics.differences import difference, differences
from evaluation.statistics.effect_sizes import EffectSize
from evaluation.statistics.inference import Nouns, Sample
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.variance import Over


def own(values, start: int) -> Sample:
    """One label per conversation, of workers with one each."""
    codes = start + np.arange(len(values))
    return Sample(np.asarray(values, dtype=float), codes, codes)


def on_contexts(values, contexts=None) -> Sample:
    codes = np.arange(len(values)) if contexts is None else np.asarray(contexts)
    return Sample(np.asarray(values, dtype=float), codes)


def test_conversations_of_their_own_are_compared_by_welchs_test():
    rng = np.random.default_rng(1)
    a, b = rng.random(12), rng.random(30) ** 2

    found = difference(own(a, 0), own(b, 100))

    theirs = stats.ttest_ind(a, b, equal_var=False)
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.freedom == pytest.approx(theirs.df)
    assert isinstance(found.interval, Interval)
    expected = theirs.confidence_interval(0.95)
    assert (found.interval.low, found.interval.high) == pytest.approx((expected.low, expected.high))
    assert found.clusters == (12, 30, 0)


def test_the_same_contexts_are_compared_by_the_paired_test():
    rng = np.random.default_rng(2)
    ease = rng.random(25) / 2
    a, b = ease + rng.random(25) / 2, ease + rng.random(25) / 3

    found = difference(on_contexts(a), on_contexts(b))

    theirs = stats.ttest_rel(a, b)
    assert found.p == pytest.approx(theirs.pvalue)
    assert found.freedom == pytest.approx(24)
    assert found.clusters == (25, 25, 25)


def test_one_missing_context_leaves_the_others_paired():
    rng = np.random.default_rng(3)
    ease = rng.random(400) * 0.8
    a, b = ease + rng.random(400) / 5, ease + rng.random(400) / 5

    all_of_them = difference(on_contexts(a), on_contexts(b))
    without_one = difference(on_contexts(a), on_contexts(b[1:], np.arange(1, 400)))

    assert without_one.error == pytest.approx(all_of_them.error, rel=0.05)
    assert without_one.clusters == (400, 399, 399)
    assert "399 contexts that both have" in without_one.describe_basis(Nouns(cluster="context"))


def test_pairing_on_some_contexts_has_the_error_of_repeated_studies():
    def study(seed):
        rng = np.random.default_rng(seed)
        ease = rng.random(60) * 0.8
        a, b = ease[:40] + rng.random(40) / 5, ease[20:] + rng.random(40) / 5
        return difference(on_contexts(a, np.arange(40)), on_contexts(b, np.arange(20, 60)))

    found = [study(seed) for seed in range(600)]

    assert np.mean([each.error**2 for each in found]) == pytest.approx(
        np.var([each.difference for each in found]), rel=0.15
    )
    assert np.mean([each.p < 0.05 for each in found]) == pytest.approx(0.05, abs=0.027)


def crossing(rng, each: int, conversations: int = 60) -> tuple[Sample, Sample]:
    """Two equal bots and workers with several conversations with each of them."""
    worker = np.tile(np.arange(conversations) // each, 2)
    place = 1.2 + 0.8 * rng.normal(size=conversations)[worker] + 0.8 * rng.normal(size=2 * conversations)
    code = np.repeat(np.arange(2 * conversations), 8)
    yes = (rng.random(len(code)) < expit(place)[code]).astype(float)
    first = code < conversations
    one, other = (Sample(yes[of], code[of], worker[code][of]) for of in (first, ~first))
    return one, other


@pytest.mark.parametrize("each", [1, 5])
def test_equal_bots_with_the_same_workers_are_called_different_as_often_as_stated(each):
    found = [difference(*crossing(np.random.default_rng(seed), each)) for seed in range(400)]

    assert found[0].over is Over.RATERS
    assert np.mean([one.p < 0.05 for one in found]) == pytest.approx(0.05, abs=0.033)
    assert np.mean([one.error**2 for one in found]) == pytest.approx(
        np.var([one.difference for one in found]), rel=0.2
    )


def test_equal_bots_judged_by_few_raters_are_called_different_as_often_as_stated():
    def study(seed):
        rng = np.random.default_rng(seed)
        rater = np.argsort(rng.random((100, 2, 8)), axis=2)[:, :, :5].ravel()
        context, bot = np.repeat(np.arange(100), 10), np.tile(np.repeat([0, 1], 5), 100)
        place = 0.4 + rng.normal(size=100)[context] + 0.8 * rng.normal(size=(2, 8))[bot, rater]
        yes = (rng.random(1000) < expit(place)).astype(float)
        return difference(*(Sample(yes[bot == b], context[bot == b], rater[bot == b]) for b in (0, 1)))

    found = [study(seed) for seed in range(400)]

    assert found[0].over is Over.BOTH
    assert np.mean([one.p < 0.05 for one in found]) == pytest.approx(0.05, abs=0.033)


def test_interval_p_value_and_words_are_one_decision():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        shares, numbers = rng.random(2), rng.integers(2, 12, 2)
        found = difference(
            *(own(rng.random(n) < p, 100 * i) for i, (n, p) in enumerate(zip(numbers, shares, strict=True)))
        )
        assert isinstance(found.interval, Interval)

        told_apart = 0 not in found.interval
        assert told_apart == (found.p < 0.05)
        assert told_apart == ("is ahead of" in found.sentence())
        assert -1 <= found.interval.low <= found.difference <= found.interval.high <= 1


def test_perfectly_separated_bots_differ_significantly():
    found = difference(own([1] * 8, 0), own([0] * 8, 100))

    assert found.p < 0.001
    assert found.sentence().startswith("first is ahead of second by 100.0 points, 95\u00a0% interval ")
    # Clopper-Pearson: of 8 alike the ends lie 0.3694 from 1 and from 0, so √2 · 0.3694 with t of 7; the
    # difference has 14 degrees of freedom.
    half = np.sqrt(2) * 0.3694 / stats.t.ppf(0.975, 7) * stats.t.ppf(0.975, 14)
    assert found.interval.low == pytest.approx(1 - half, abs=1e-3)


def test_bots_whose_labels_are_the_same_everywhere_differ_in_few_contexts_at_most():
    rng = np.random.default_rng(5)
    same = on_contexts(rng.integers(0, 2, 30))

    found = difference(same, same)

    # 1 - 0.025^(1/30) = 0.1157: none of 30 contexts tells them apart.
    assert found.p == 1
    assert (found.interval.low, found.interval.high) == pytest.approx((-0.1157, 0.1157), abs=1e-3)


def test_the_words_for_one_pair_are_singular():
    two: dict[Hashable, Sample] = {"a": own([1] * 36 + [0] * 4, 0), "b": own([1] * 28 + [0] * 12, 100)}
    five = two | {f"c{i}": own([1] * 30 + [0] * 10, 1000 * (i + 1)) for i in range(3)}

    (alone,) = differences(two)
    among = differences(five)[0]

    assert alone.p == among.p == alone.p_holm
    assert alone.p < 0.05 < among.p_holm
    assert "pairs compared" not in alone.sentence()
    assert "among the 10 pairs compared this may be chance (Holm-corrected p = " in among.sentence()


def test_raters_who_always_agree_count_like_one():
    # Without the floor the variance over single labels, half of that over contexts, would be taken away.
    rng = np.random.default_rng(5)
    a, b = rng.random(40), rng.random(40)
    context, rater = np.tile(np.arange(40), 2), np.repeat([0, 1], 40)

    found = difference(*(Sample(np.tile(each, 2), context, rater) for each in (a, b)))

    assert found.error == pytest.approx(stats.sem(a - b))
    assert found.raters == (2, 2, 2)


def test_shares_near_the_ceiling_have_the_variance_of_a_share_nearer_to_the_common_one():
    # 20 conversations of 10 replies of which 2 have a wrong one, against 40 of which 12 have one.
    ones = {0: [10] * 18 + [9] * 2, 1: [10] * 28 + [9] * 12}

    def sample(number: int, first: int) -> Sample:
        values = np.concatenate([np.arange(10) < n for n in ones[number]]).astype(float)
        code = first + np.repeat(np.arange(len(ones[number])), 10)
        return Sample(values, code, code)

    found = difference(sample(0, 0), sample(1, 1000))

    variances = []
    common = (198 + 388) / 600
    for number, n, share in ((0, 20, 198 / 200), (1, 40, 388 / 400)):
        means = np.array(ones[number]) / 10
        variance = means.var(ddof=1) / n
        nearer = np.clip(common, share - np.sqrt(variance), share + np.sqrt(variance))
        variances.append(variance * max(1, nearer * (1 - nearer) / (share * (1 - share))))
    assert found.error == pytest.approx(np.sqrt(sum(variances)))
    welch = np.sqrt(sum(np.array(ones[k]).var(ddof=1) / 100 / n for k, n in ((0, 20), (1, 40))))
    assert found.error > 1.05 * welch


def test_equivalence_is_two_one_sided_tests():
    rng = np.random.default_rng(7)
    a, b = rng.random(200), rng.random(200)

    found = difference(own(a, 0), own(b, 1000))

    above = stats.ttest_ind(a + 0.1, b, equal_var=False, alternative="greater").pvalue
    below = stats.ttest_ind(a - 0.1, b, equal_var=False, alternative="less").pvalue
    assert found.equivalence(0.1) == pytest.approx(max(above, below))
    with pytest.raises(ValueError, match="must be positive"):
        found.equivalence(0)
    assert isinstance(found.equal_within, float)
    assert found.equivalence(found.equal_within) == pytest.approx(0.05)


def test_a_difference_never_exceeds_the_scale():
    # 3 and 0 of 3: the t test would allow for more than 100 points.
    assert difference(own([1, 1, 1], 0), own([0, 0, 0], 10)).equal_within == 1


def test_one_conversation_has_no_margin_of_equivalence():
    assert isinstance(difference(own([1], 0), own([0, 1], 10)).equal_within, Undefined)


def test_the_odds_ratio_is_of_yes():
    # 3 of 4 against 1 of 4: odds 3 and 1/3.
    found = difference(own([1, 1, 1, 0], 0), own([1, 0, 0, 0], 10))

    assert isinstance(found.odds_ratio, EffectSize)
    assert found.odds_ratio.value == pytest.approx(9)
    assert isinstance(difference(own([1, 1], 0), own([1, 0], 10)).odds_ratio, Undefined)
    assert isinstance(difference(own([0.5, 1], 0), own([1, 0], 10)).odds_ratio, Undefined)


def test_a_bot_of_one_conversation_cannot_be_compared():
    found = difference(own([1], 0), own([1, 0, 1], 10))

    assert found.sentence() == (
        "Whether first or second is ahead cannot be told: 1 and 3 conversations; "
        "a comparison needs 2 of each system."
    )


def test_a_bot_judged_by_one_worker_is_confounded_with_the_worker():
    one = Sample(np.array([1.0, 1, 0]), np.arange(3), np.zeros(3, int))
    other = Sample(np.array([0.0, 1, 0]), np.arange(3), np.ones(3, int))

    found = difference(one, other)

    assert isinstance(found.interval, Undefined)
    assert "cannot be told from the worker" in found.sentence()


def test_ratings_are_compared_in_their_own_unit():
    rng = np.random.default_rng(8)
    a, b = (on_contexts(rng.integers(low, high, 40)) for low, high in ((4, 8), (1, 5)))

    found = difference(a, b, low=1, high=7)

    assert f"is ahead of second by {found.difference:.2f}, 95\u00a0% interval " in found.sentence()


def test_the_effect_is_cohens_d_of_conversations():
    rng = np.random.default_rng(3)
    a, b = rng.random(12), rng.random(30) ** 2

    found = difference(own(a, 0), own(b, 100))

    pooled = np.sqrt((11 * a.var(ddof=1) + 29 * b.var(ddof=1)) / 40)
    assert isinstance(found.effect, EffectSize)
    assert found.effect.value == pytest.approx((a.mean() - b.mean()) / pooled)


def test_without_two_conversations_of_each_there_is_no_effect():
    assert isinstance(difference(own([0.2], 0), own([0.1, 0.5], 10)).effect, Undefined)
