"""Effects of factors with errors by participant, against scipy, statsmodels and hand calculation."""

import numpy as np
import pytest
import scipy
import statsmodels.formula.api as smf
from numpy.random import default_rng
from pandas import DataFrame

from evaluation.statistics.interval import Undefined
from evaluation.statistics.linear_models.factorial import Factorial, factorial


def of(found: Factorial | Undefined) -> Factorial:
    assert isinstance(found, Factorial), found
    return found


def test_two_levels_with_one_score_each_have_welchs_statistic() -> None:
    """The degrees of freedom are those of equal variances, by the sizes (as in Pustejovsky & Tipton)."""
    rng = default_rng(1)
    one, other = rng.normal(3, 1, 14), rng.normal(3.6, 2, 23)
    tone = ["plain"] * 14 + ["warm"] * 23

    found = of(factorial([*one, *other], {"tone": tone}, np.arange(37)))

    theirs = scipy.stats.ttest_ind(one, other, equal_var=False)
    freedom = (1 / 14 + 1 / 23) ** 2 / (1 / 14**2 / 13 + 1 / 23**2 / 22)
    (effect,), (difference,) = found.effects, found.differences
    assert effect.f == pytest.approx(theirs.statistic**2)
    assert effect.error_freedom == pytest.approx(freedom)
    assert (difference.first, difference.second) == ("plain", "warm")
    assert difference.value == pytest.approx(one.mean() - other.mean())
    half = scipy.special.stdtrit(freedom, 0.975) * abs(difference.value / theirs.statistic)
    assert difference.interval.high == pytest.approx(difference.value + half)
    assert difference.p == pytest.approx(effect.p)


def design(seed: int) -> DataFrame:
    """A 2 x 3 design with unequal numbers and unequal variances, one score per participant."""
    rng = default_rng(seed)
    rows = [
        (tone, length, rng.normal(2 + (tone == "warm") * (length == "long"), 1 + (length == "short")))
        for tone in ("plain", "warm")
        for length in ("long", "middle", "short")
        for _ in range(int(rng.integers(6, 15)))
    ]
    return DataFrame(rows, columns=["tone", "length", "score"])


def test_main_effects_and_interactions_have_statsmodels_statistics() -> None:
    data = design(2)

    found = of(factorial(data.score, {"tone": data.tone, "length": data.length}, np.arange(len(data))))

    fit = smf.ols("score ~ C(tone, Sum) * C(length, Sum)", data).fit(cov_type="HC2")
    theirs = fit.wald_test_terms(scalar=True).table
    names = ["C(tone, Sum)", "C(length, Sum)", "C(tone, Sum):C(length, Sum)"]
    assert [effect.factors for effect in found.effects] == [("tone",), ("length",), ("tone", "length")]
    for effect, name in zip(found.effects, names, strict=True):
        # Theirs is χ²; ours is scaled to an F with the degrees of freedom of Hotelling's T².
        freedom = effect.error_freedom + effect.freedom - 1
        ours = effect.f * effect.freedom * freedom / effect.error_freedom
        assert ours == pytest.approx(float(theirs.statistic[name]), rel=1e-9)
        assert effect.p >= float(theirs.pvalue[name])


def test_means_of_levels_and_differences_of_differences_have_statsmodels_errors() -> None:
    data = design(5)

    found = of(factorial(data.score, {"tone": data.tone, "length": data.length}, np.arange(len(data))))

    fit = smf.ols("score ~ C(tone):C(length) - 1", data).fit(cov_type="HC2")
    names = {name: [part.split("[")[1][:-1] for part in name.split(":")] for name in fit.params.index}

    def theirs(weight: dict[tuple[str, str], float]) -> tuple[float, float]:
        row = [weight.get((tone, length), 0.0) for tone, length in names.values()]
        tested = fit.t_test([row])
        return float(tested.effect[0]), float(tested.sd[0, 0])

    lengths = ("long", "middle", "short")
    for mean in found.means[:2]:
        value, error = theirs({(mean.level, length): 1 / 3 for length in lengths})
        assert mean.value == pytest.approx(value)
        assert mean.participants == int((data.tone == mean.level).sum())
        # Student's t with Satterthwaite's degrees of freedom: wider than a normal interval, not by much.
        assert 1.96 * error < mean.interval.high - mean.value < 2.3 * error
    assert [each.second for each in found.interactions] == [
        ("long", "middle"), ("long", "short"), ("middle", "short"),
    ]  # fmt: skip
    for each in found.interactions:
        assert (each.factors, each.first) == (("tone", "length"), ("plain", "warm"))
        one, other = each.second
        value, error = theirs(
            {("plain", one): 1, ("warm", one): -1, ("plain", other): -1, ("warm", other): 1}
        )
        assert each.value == pytest.approx(value)
        assert each.p >= scipy.special.ndtr(-abs(value) / error) * 2
        assert each.p == pytest.approx(scipy.special.ndtr(-abs(value) / error) * 2, abs=0.05)


def test_two_factors_with_many_levels_have_only_their_joint_test() -> None:
    rng = default_rng(6)
    first, second = np.repeat(list("abcde"), 40), np.tile(list("vwxyz"), 40)

    found = of(factorial(rng.normal(size=200), {"one": first, "other": second}, range(200)))

    assert found.interactions == []  # 10 times 10 pairs
    assert found.effects[2].factors == ("one", "other")


def test_several_scores_of_a_participant_in_a_cell_count_once() -> None:
    """By hand: means of the participants are 1, 3 and 5, 9, so cells have 2 and 7, variances 2 and 8."""
    scores = [0, 2, 3, 5, 9, 9, 9]
    who = ["a", "a", "b", "c", "d", "d", "d"]
    tone = ["plain"] * 3 + ["warm"] * 4

    found = of(factorial(scores, {"tone": tone}, who))

    (difference,) = found.differences
    assert difference.value == -5
    assert found.effects[0].f == pytest.approx(25 / (2 / 2 + 8 / 2))
    assert found.participants == 4


def test_a_factor_within_participants_is_the_paired_test() -> None:
    rng = default_rng(3)
    leaning = rng.normal(0, 3, 20)
    one, other = leaning + rng.normal(0, 1, 20), leaning + rng.normal(0.7, 1, 20)

    found = of(factorial([*one, *other], {"bot": ["A"] * 20 + ["B"] * 20}, [*range(20), *range(20)]))

    theirs = scipy.stats.ttest_rel(one, other)
    assert found.effects[0].p == pytest.approx(theirs.pvalue)
    assert found.differences[0].interval.high == pytest.approx(theirs.confidence_interval().high)


def test_holms_correction_is_over_the_levels_of_a_factor_and_over_the_effects() -> None:
    data = design(4)

    found = of(factorial(data.score, {"tone": data.tone, "length": data.length}, np.arange(len(data))))

    assert min(e.p_holm for e in found.effects) == pytest.approx(min(1, 3 * min(e.p for e in found.effects)))
    lengths = [each for each in found.differences if each.factor == "length"]
    assert len(lengths) == 3
    assert min(e.p_holm for e in lengths) == pytest.approx(min(1, 3 * min(e.p for e in lengths)))


@pytest.mark.parametrize(
    ("scores", "tone", "who", "says"),
    [
        ([], [], [], "There are no scores"),
        ([np.nan], ["warm"], ["a"], "There are no scores"),
        ([1, 2], ["warm", "warm"], ["a", "b"], "one level “warm”"),
        ([1, 2, 3], ["plain", "plain", "warm"], ["a", "b", "c"], "only one participant with tone warm"),
        ([1, 1, 2, 2], ["plain", "plain", "warm", "warm"], ["a", "b", "c", "d"], "do not vary"),
    ],
)
def test_what_cannot_be_told_says_why(
    scores: list[float], tone: list[str], who: list[str], says: str
) -> None:
    found = factorial(scores, {"tone": tone}, who)

    assert isinstance(found, Undefined)
    assert says in found.reason


def test_a_design_with_an_empty_cell_names_it() -> None:
    scores, who = [1.0, 2, 3, 4, 5, 6], range(6)
    tone = ["plain", "plain", "plain", "plain", "warm", "warm"]
    bot = ["A", "A", "B", "B", "A", "A"]

    found = factorial(scores, {"tone": tone, "bot": bot}, who)

    assert isinstance(found, Undefined)
    assert "no participant with tone warm, bot B" in found.reason


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scores, and another column has 1"):
        factorial([1, 2], {"tone": ["plain", "warm"]}, ["a"])


def test_a_design_with_too_many_cells_is_not_analysed() -> None:
    many = [str(number) for number in range(60)]

    found = factorial(np.arange(60.0), {"tone": many}, range(60))

    assert isinstance(found, Undefined)
    assert "60 cells, more than 48" in found.reason
