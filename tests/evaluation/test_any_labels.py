"""Whatever labels there are, every statistic answers with finite numbers or with a reason."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluation.rater_agreement.coefficients import (
    Metric,
    alpha_interval,
    fleiss_interval,
    fleiss_kappa,
    free_marginal_kappa,
    krippendorff_alpha,
    percent_interval,
    percent_mean_of_units,
    percent_pooled,
)
from evaluation.rater_agreement.influence import compare_parties, influence
from evaluation.rater_agreement.ratings import Ratings
from evaluation.rater_agreement.reliability import alpha
from evaluation.statistics.comparison import compare_all
from evaluation.statistics.differences import differences
from evaluation.statistics.inference import mean
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import Labels
from evaluation.statistics.pairwise import Duels, bradley_terry, records
from evaluation.statistics.ssa import (
    Unit,
    estimates,
    score_samples,
    ssa,
    ssa_by_rater,
    ssa_by_turn,
    ssa_over_runs,
)

keys = st.tuples(st.sampled_from("ab"), st.sampled_from("cde"), st.integers(0, 2), st.sampled_from("rst"))
votes = st.sampled_from([(True, True), (True, False), (False, False)])
any_labels = st.dictionaries(keys, votes, max_size=14).map(
    lambda table: Labels.from_rows([(*key, *vote) for key, vote in table.items()])
)
any_duels = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.sampled_from("cd"),
        st.sampled_from(["first", "second", "tie"]),
        st.integers(0, 4),
    ),
    max_size=12,
).map(Duels.from_rows)


def numbers(answer: object) -> Iterator[float]:
    """All numbers in a result, however deep."""
    if isinstance(answer, Undefined):
        assert answer.reason
    elif isinstance(answer, int | float):
        yield float(answer)
    elif is_dataclass(answer):
        for field in fields(answer):
            yield from numbers(getattr(answer, field.name))
    elif isinstance(answer, Mapping):
        for value in answer.values():
            yield from numbers(value)
    elif isinstance(answer, Sequence) and not isinstance(answer, str):
        for value in answer:
            yield from numbers(value)


def assert_finite(*answers: object) -> None:
    for answer in answers:
        assert all(math.isfinite(number) for number in numbers(answer)), answer


@given(any_labels)
def test_scores_are_finite_or_have_a_reason(labels):
    rng = np.random.default_rng(0)

    for unit in Unit:
        assert_finite(ssa(labels, unit), ssa_by_turn(labels, unit), influence(labels, unit))
        assert_finite(estimates(labels, rng, unit=unit, resamples=100))
    assert_finite(ssa_by_rater(labels), ssa_over_runs([labels, labels]))


@given(any_labels, st.sampled_from(["percentile", "bca", "studentised"]))
def test_intervals_are_finite_or_have_a_reason(labels, method):
    rng = np.random.default_rng(0)

    assert_finite(estimates(labels, rng, method=method, resamples=100))
    assert_finite(estimates(labels, rng, over="raters", method=method, resamples=100))


@given(any_labels)
def test_comparisons_are_finite_or_have_a_reason(labels):
    rng = np.random.default_rng(0)

    for paired in (True, False):
        found = compare_all(labels, rng, paired=paired, resamples=100)
        assert_finite(found)
        assert all(comparison.sentence() for comparison in found)
    assert_finite(compare_parties(labels, labels.rater == "r", rng, resamples=100))


@given(any_labels)
def test_inference_is_finite_within_the_scale_or_has_a_reason(labels):
    for unit in Unit:
        for of_bots in score_samples(labels, unit).values():
            found, compared = [mean(sample) for sample in of_bots.values()], differences(of_bots)
            assert_finite(found, compared)
            ends = [(e.interval.low, e.value, e.interval.high) for e in found if hasattr(e.interval, "low")]
            assert all(0 <= low <= value <= high <= 1 for low, value, high in ends)
            for each in compared:
                assert_finite(each.equivalence(0.1))
                assert each.sentence()
                if not isinstance(each.p, Undefined):
                    assert (each.p < 0.05) == (0 not in each.interval)


@given(any_labels, st.sampled_from(list(Metric)), st.booleans())
def test_alpha_is_finite_or_has_a_reason(labels, metric, together):
    ratings = Ratings.from_columns(labels.items[1], labels.raters[1], labels.sensible)

    found = alpha(ratings, metric, clusters=labels.items[0] if together else None)

    assert_finite(found)
    if not isinstance(found, Undefined) and not isinstance(found.interval, Undefined):
        assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1


@given(any_labels)
def test_agreement_is_finite_or_has_a_reason(labels):
    rng = np.random.default_rng(0)
    ratings = Ratings.from_columns(labels.items[1], labels.raters[1], labels.sensible)

    assert_finite(
        percent_pooled(ratings), percent_mean_of_units(ratings), percent_interval(ratings, rng, resamples=100)
    )
    assert_finite(
        fleiss_kappa(ratings), free_marginal_kappa(ratings), fleiss_interval(ratings, rng, resamples=100)
    )
    for metric in Metric:
        assert_finite(
            krippendorff_alpha(ratings, metric), alpha_interval(ratings, rng, metric, resamples=100)
        )


@given(any_duels)
def test_pairwise_results_are_finite_or_have_a_reason(duels):
    assert_finite(records(duels), bradley_terry(duels))
