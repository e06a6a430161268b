"""The hybrid metric against a plain loop, a textbook example, another library and planted truth."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.random import default_rng

from benchmarks.hybrid import held
from benchmarks.hybrid import simulated_data as simulated
from evaluation.conversation.hybrid import HybridError, Talks, correlations, hybrid
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray

QUICK = {"permutations": 200}


def planted(
    seed: int, bots: int = 12, each: int = 40, played: int = 30, noise: float = 0.7
) -> tuple[Talks, FloatArray, Talks]:
    """Bots that differ in three metrics, and ratings of 4 + metrics · LAMBDAS, with noise."""
    return simulated(seed, bots, each, played, noise=noise)[:3]


def by_plain_loop(rated: Talks, rating: FloatArray, self_play: Talks) -> list[float]:
    """Leave-one-bot-out with NumPy's own least squares, a conversation at a time."""
    found = []
    for bot in sorted(set(rated.bot.tolist())):
        there = [n for n in range(len(rating)) if rated.bot[n] != bot]
        x, y = rated.values[there], rating[there]
        mean, deviation = x.mean(0), x.std(0, ddof=1)
        beta, *_ = np.linalg.lstsq(np.c_[np.ones(len(x)), (x - mean) / deviation], y, rcond=None)
        guesses = []
        for n in range(len(self_play.bot)):
            if self_play.bot[n] == bot:
                guesses.append(beta[0] + ((self_play.values[n] - mean) / deviation) @ beta[1:])
        found.append(sum(guesses) / len(guesses))
    return found


def test_leaving_out_each_bot_is_what_a_plain_loop_gives() -> None:
    rated, rating, self_play = planted(1, noise=2.0)

    found = hybrid(rated, rating, self_play, default_rng(0), **QUICK)

    wanted = by_plain_loop(rated, rating, self_play)
    assert [bot.value for bot in found.bots] == pytest.approx(wanted, abs=1e-9)
    means = [rating[rated.bot == bot].mean() for bot in range(12)]
    assert [bot.rated for bot in found.bots] == pytest.approx(means)
    pearson = correlations(np.array([bot.value for bot in found.bots]), np.array(means))["pearson"]
    assert not isinstance(pearson, Undefined)
    assert pearson.value == pytest.approx(np.corrcoef(wanted, means)[0, 1], abs=1e-9)
    assert pearson.points == 12


def test_coefficients_are_those_of_longleys_benchmark_and_of_statsmodels() -> None:
    """Longley 1967, Journal of the American Statistical Association 62: made to break least squares.

    The coefficients are certified by the National Institute of Standards and Technology to 15 digits.
    """
    data = sm.datasets.longley.load_pandas()
    x, y = data.exog.to_numpy(float), data.endog.to_numpy(float)
    bot = np.arange(16) % 4

    found = hybrid(Talks(bot, x), y, Talks(bot, x), default_rng(0), **QUICK)

    certified = [15.0618722713733, -0.0358191792925910, -2.02022980381683, -1.03322686717359]
    certified += [-0.0511041056535807, 1829.15146461355]
    assert [each.raw for each in found.coefficients] == pytest.approx(certified, rel=1e-8)
    fitted = sm.OLS(y, sm.add_constant((x - x.mean(0)) / x.std(0, ddof=1))).fit()
    assert [each.value for each in found.coefficients] == pytest.approx(fitted.params[1:], rel=1e-8)
    assert found.r_squared == pytest.approx(0.995479004577296, rel=1e-10)
    assert found.condition > 30


@pytest.mark.parametrize(
    ("size", "kind", "studies"),
    [((12, 40, 30), "even", 60), ((6, 15, 10), "uneven", 200), ((3, 20, 10), "even", 400)],
)
def test_intervals_contain_the_true_value_in_95_of_100_simulated_studies(
    size: tuple[int, int, int], kind: str, studies: int
) -> None:
    found = held(size, studies, kind)

    # Three binomial standard errors of so many studies: 8.4, 4.6 and 3.3 points.
    most = 3 * np.sqrt(0.95 * 0.05 / studies)
    for name in ("over_conversations", "over_bots", "foretold"):
        assert found[name] == pytest.approx(np.full(len(found[name]), 0.95), abs=most), name


def test_intervals_cover_further_bots_that_differ_beyond_the_metrics() -> None:
    found = held((4, 20, 10), 120, "bots differ")

    # Three standard errors are 6 points; the bots' own effects are no matter of other conversations.
    assert min(found["over_bots"]) > 0.95 - 0.06
    assert max(found["over_conversations"]) < 0.85


def test_self_play_metrics_predict_ratings_of_distinguishable_bots() -> None:
    rated, rating, self_play = planted(3)

    found = hybrid(rated, rating, self_play, default_rng(0))

    ratings = np.array([bot.rated for bot in found.bots])
    for name, correlation in correlations(np.array([bot.value for bot in found.bots]), ratings).items():
        assert not isinstance(correlation, Undefined)
        assert correlation.value > 0.7, name
    assert found.p == 1 / 2001
    for bot in found.bots:
        assert isinstance(bot.interval, Interval)
        assert bot.value in bot.interval
        assert bot.conversations == (40, 30)


def test_ratings_independent_of_the_metrics_give_uniform_p_values() -> None:
    found = []
    for seed in range(60):
        rated, _, self_play = planted(seed, bots=6, each=15, played=10)
        noise = default_rng(seed + 1000).normal(size=len(rated.bot))
        found.append(hybrid(rated, noise, self_play, default_rng(seed), **QUICK).p)

    # Of 60 even ones, 6 ± 2.3 lie below .1 and 30 ± 3.9 below a half.
    assert sum(p < 0.1 for p in found if isinstance(p, float)) <= 13
    assert 18 <= sum(p < 0.5 for p in found if isinstance(p, float)) <= 42


def test_a_metric_that_never_varies_counts_nothing() -> None:
    rated, rating, self_play = planted(4)
    with_constant = Talks(rated.bot, np.c_[rated.values, np.full(len(rating), 7.0)])
    play = Talks(self_play.bot, np.c_[self_play.values, np.full(len(self_play.bot), 9.0)])

    found = hybrid(with_constant, rating, play, default_rng(0), **QUICK)

    plain = hybrid(rated, rating, self_play, default_rng(0), **QUICK)
    assert found.coefficients[3].value == 0
    assert isinstance(found.coefficients[3].interval, Undefined)
    assert [bot.value for bot in found.bots] == pytest.approx([bot.value for bot in plain.bots])


def test_a_duplicate_metric_shares_its_coefficient_and_shows_the_condition_number() -> None:
    rated, rating, self_play = planted(5)
    twice = Talks(rated.bot, np.c_[rated.values, rated.values[:, 0]])
    play = Talks(self_play.bot, np.c_[self_play.values, self_play.values[:, 0]])

    found = hybrid(twice, rating, play, default_rng(0), **QUICK)

    assert found.condition > 1e8
    assert found.coefficients[0].value == pytest.approx(found.coefficients[3].value)
    assert [bot.value for bot in found.bots] == pytest.approx(by_plain_loop(rated, rating, self_play))


@pytest.mark.parametrize(
    ("bots", "why"),
    [(1, "There is 1 bot with ratings"), (2, "There are 2 bots with ratings")],
)
def test_too_few_bots_are_refused(bots: int, why: str) -> None:
    rated, rating, self_play = planted(6, bots=bots)

    with pytest.raises(HybridError, match=f"{why}.*needs at least 3"):
        hybrid(rated, rating, self_play, default_rng(0))


def test_data_that_cannot_be_fitted_are_refused() -> None:
    rated, rating, self_play = planted(7)
    without = self_play.bot != 5

    with pytest.raises(HybridError, match="Bot 5 has no self-play"):
        hybrid(rated, rating, Talks(self_play.bot[without], self_play.values[without]), default_rng(0))
    with pytest.raises(HybridError, match="All 480 conversations are rated 4"):
        hybrid(rated, np.full(480, 4.0), self_play, default_rng(0))
    few = np.isin(np.arange(480) % 40, [0]) & (rated.bot < 4)
    with pytest.raises(HybridError, match="3 conversations with ratings; 3 metrics need 5"):
        hybrid(Talks(rated.bot[few], rated.values[few]), rating[few], self_play, default_rng(0))
