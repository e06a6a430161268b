"""The logistic mixed model against published fits of lme4's glmer, definitions and planted effects."""

from collections.abc import Hashable
from pathlib import Path

import numpy as np
import pytest
import scipy

from evaluation.statistics.differences import differences
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.mixed_models.binomial import Likelihood, Observed
from evaluation.statistics.mixed_models.fitting import MOST_CELLS, Fit
from evaluation.statistics.mixed_models.laplace import Factor
from evaluation.statistics.mixed_models.logistic import cells, fit, fitted, odds_ratios

# Contagious bovine pleuropneumonia in African cattle (Lesnoff et al. 2004): herd, cases, animals, period.
CBPP = np.array(
    [
        *[(1, 2, 14, 0), (1, 3, 12, 1), (1, 4, 9, 2), (1, 0, 5, 3), (2, 3, 22, 0), (2, 1, 18, 1)],
        *[(2, 1, 21, 2), (3, 8, 22, 0), (3, 2, 16, 1), (3, 0, 16, 2), (3, 2, 20, 3), (4, 2, 10, 0)],
        *[(4, 0, 10, 1), (4, 2, 9, 2), (4, 0, 6, 3), (5, 5, 18, 0), (5, 0, 25, 1), (5, 0, 24, 2)],
        *[(5, 1, 4, 3), (6, 3, 17, 0), (6, 0, 17, 1), (6, 0, 18, 2), (6, 1, 20, 3), (7, 8, 16, 0)],
        *[(7, 1, 10, 1), (7, 3, 9, 2), (7, 0, 5, 3), (8, 12, 34, 0), (9, 2, 9, 0), (9, 0, 6, 1)],
        *[(9, 0, 8, 2), (9, 0, 6, 3), (10, 1, 22, 0), (10, 1, 22, 1), (10, 0, 18, 2), (10, 2, 22, 3)],
        *[(11, 0, 25, 0), (11, 5, 27, 1), (11, 3, 22, 2), (11, 1, 22, 3), (12, 2, 10, 0), (12, 1, 8, 1)],
        *[(12, 0, 6, 2), (12, 0, 5, 3), (13, 1, 21, 0), (13, 2, 24, 1), (13, 0, 19, 2), (13, 0, 23, 3)],
        *[(14, 11, 19, 0), (14, 0, 2, 1), (14, 0, 3, 2), (14, 0, 2, 3), (15, 1, 19, 0), (15, 1, 15, 1)],
        *[(15, 1, 15, 2), (15, 0, 15, 3)],
    ]
)


def of_cbpp() -> Observed:
    herd, cases, animals, period = CBPP.T
    return Observed(
        cases.astype(float), animals.astype(float), period.astype(np.int64), (Factor.of("herd", herd),)
    )


def salamanders() -> Observed:
    """360 matings of 60 females with males of their own and the other population (McCullagh & Nelder 1989).

    A line is a female's: the places of the six males among the ten of her group, and whether they mated. The
    first five of each ten are rough butts, the others whitesides.
    """
    lines = Path(__file__).with_name("salamander.txt").read_text().splitlines()
    met = [(female, word) for female, line in enumerate(lines) for word in line.split()]
    female = np.array([each for each, _ in met])
    male = female // 10 * 10 + np.array([int(word[:-1]) - 1 for _, word in met])
    mated = np.array([word[-1] == "+" for _, word in met], dtype=float)
    cross = 2 * (female % 10 // 5) + male % 10 // 5
    return Observed(mated, np.ones(360), cross, (Factor.of("female", female), Factor.of("male", male)))


def test_nested_counts_give_the_fit_of_glmer() -> None:
    # glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial): intercept -1.3985,
    # periods -0.9923, -1.1287, -1.5803; herd 0.6423; log-likelihood -92.03.
    observed = of_cbpp()

    found = fitted(("1", "2", "3", "4"), observed)

    assert isinstance(found, Fit)
    assert found.log_odds[0] == pytest.approx(-1.3985, abs=1e-4)
    assert found.log_odds[1:] - found.log_odds[0] == pytest.approx([-0.9923, -1.1287, -1.5803], abs=1e-4)
    assert found.deviations["herd"] == pytest.approx(0.64226, abs=1e-4)
    ways = scipy.special.gammaln(
        np.stack([observed.asked + 1, observed.yes + 1, observed.asked - observed.yes + 1])
    )
    assert found.log_likelihood + (ways[0] - ways[1] - ways[2]).sum() == pytest.approx(-92.026, abs=1e-3)
    # Standard errors from the curvature of the same approximation: 0.2325, and of the periods as follows.
    errors = [np.sqrt(np.array([1, -2, 1]) @ found.covariance[[0, 0, k], [0, k, k]]) for k in (1, 2, 3)]
    assert found.covariance[0, 0] ** 0.5 == pytest.approx(0.23247, abs=1e-4)
    assert errors == pytest.approx([0.30664, 0.32664, 0.42744], abs=1e-4)


def test_crossed_effects_give_the_fit_of_glmer() -> None:
    # glmer(Mate ~ -1 + Cross + (1 | Female) + (1 | Male), salamander, binomial): R/R 1.0082 (0.3937),
    # R/W 0.3062 (0.3747), W/R -1.8960 (0.4460), W/W 0.9904 (0.3912); variances 1.174 and 1.041;
    # log-likelihood -209.3; correlations of R/R with R/W 0.280, of R/W with W/R -0.019.
    found = fitted(("R/R", "R/W", "W/R", "W/W"), salamanders())

    assert isinstance(found, Fit)
    assert found.log_odds == pytest.approx([1.0082, 0.3062, -1.8960, 0.9904], abs=2e-4)
    assert found.deviations["female"] ** 2 == pytest.approx(1.174, abs=1e-3)
    assert found.deviations["male"] ** 2 == pytest.approx(1.041, abs=1e-3)
    assert found.log_likelihood == pytest.approx(-209.3, abs=0.05)
    errors = np.sqrt(np.diag(found.covariance))
    assert errors == pytest.approx([0.3937, 0.3747, 0.4460, 0.3912], abs=5e-4)
    assert found.covariance[0, 1] / errors[0] / errors[1] == pytest.approx(0.280, abs=2e-3)
    assert found.covariance[1, 2] / errors[1] / errors[2] == pytest.approx(-0.019, abs=2e-3)


def crossed(rng: np.random.Generator, labels: int = 120) -> Observed:
    """Responses in contexts, crossed with raters who lean on each of two systems differently."""
    context, rater, system = rng.integers(0, [[9], [5], [2]], (3, labels))
    asked = rng.integers(1, 4, labels).astype(float)
    factors = (
        Factor.of("context", context),
        Factor.of("response", 2 * context + system),
        Factor.of("rater", rater),
        Factor.of("rater with system", 2 * rater + system),
    )
    return Observed(rng.binomial(asked.astype(int), 0.6).astype(float), asked, system, factors)


def by_definition(observed: Observed, log_odds: np.ndarray, variance: dict[str, float]) -> float:
    """The same approximation with dense matrices and a general optimiser."""
    z = np.concatenate(
        [np.eye(f.levels)[f.level] * variance[f.name] ** 0.5 for f in observed.factors], axis=1
    )
    own = log_odds[observed.system]

    def f(u: np.ndarray) -> tuple[float, np.ndarray]:
        eta = own + z @ u
        rest = observed.yes - observed.asked * scipy.special.expit(eta)
        value = u @ u / 2 - (observed.yes * eta - observed.asked * np.logaddexp(0, eta)).sum()
        return float(value), u - z.T @ rest

    least = scipy.optimize.minimize(f, np.zeros(z.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9})
    mu = scipy.special.expit(own + z @ least.x)
    curvature = np.eye(z.shape[1]) + z.T @ ((observed.asked * mu * (1 - mu))[:, None] * z)
    return float(least.fun) + float(np.linalg.slogdet(curvature)[1]) / 2


@pytest.fixture(params=["dense blocks", "sparse blocks"])
def _blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The likelihood of few cells has dense blocks; here also sparse ones, as of many."""
    if request.param == "sparse blocks":
        monkeypatch.setattr("evaluation.statistics.mixed_models.laplace.DENSE_WORK", -1)


@pytest.mark.usefixtures("_blocks")
def test_likelihood_is_that_of_the_definition_and_its_gradient_that_of_differences() -> None:
    observed = crossed(np.random.default_rng(5))
    likelihood = Likelihood(observed)
    variances = {"context": 0.4, "response": 0.2, "rater": 0.3, "rater with system": 0.6}
    at = np.array([0.3, 0.8, *(variances[each.name] for each in likelihood.factors)])

    value, gradient = likelihood(at)

    assert value == pytest.approx(by_definition(observed, at[:2], variances), abs=1e-7)
    for place, step in enumerate(1e-5 * np.eye(6)):
        slope = (likelihood(at + step)[0] - likelihood(at - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


@pytest.mark.usefixtures("_blocks")
def test_three_kinds_that_nest_are_eliminated_like_dense_ones() -> None:
    conversation = np.arange(24)
    worker = conversation // 4
    system = conversation // 2 % 2
    factors = (
        Factor.of("conversation", conversation),
        Factor.of("worker with system", 2 * worker + system),
        Factor.of("worker", worker),
    )
    yes = np.random.default_rng(1).binomial(8, 0.6, 24).astype(float)
    observed = Observed(yes, np.full(24, 8.0), system, factors)
    variances = {"conversation": 0.5, "worker with system": 0.2, "worker": 0.7}
    likelihood = Likelihood(observed)
    at = np.array([0.1, 0.4, *(variances[each.name] for each in likelihood.factors)])

    assert likelihood.work == 0
    assert likelihood(at)[0] == pytest.approx(by_definition(observed, at[:2], variances), abs=1e-7)


def talks(rng: np.random.Generator, better: float, workers: int) -> dict[Hashable, Sample]:
    """Two bots with 200 conversations of 10 turns each; workers have several with both."""
    worker = rng.integers(0, workers, 400)
    bot, leaning = np.arange(400) // 200, 0.8 * rng.normal(size=workers)
    rate = scipy.special.expit(0.3 + better * bot + leaning[worker] + 0.6 * rng.normal(size=400))
    talk = np.repeat(np.arange(400), 10)
    says = (rng.random(4000) < rate[talk]).astype(float)
    return {
        name: Sample(says[bot[talk] == k], talk[bot[talk] == k], worker[talk][bot[talk] == k])
        for k, name in enumerate(("first", "second"))
    }


def long_talks(leaning: np.ndarray, *, same: bool) -> tuple[dict[Hashable, Sample], np.ndarray]:
    """One conversation of 20,000 labels for each worker and bot, and (bots, workers) logits of the shares.

    Args:
        leaning: (bots, workers) log odds of a yes.
        same: whether the bots have the same workers.
    """
    bots, workers = leaning.shape
    yes = np.random.default_rng(1).binomial(20_000, scipy.special.expit(leaning))
    given: dict[Hashable, Sample] = {}
    for bot in range(bots):
        talk = np.repeat(np.arange(workers), 20_000)
        values = (np.tile(np.arange(20_000), workers) < yes[bot][talk]).astype(float)
        given[f"bot {bot}"] = Sample(values, workers * bot + talk, talk if same else workers * bot + talk)
    return given, scipy.special.logit(yes / 20_000)


def error_of_first_two(found: Fit | Undefined) -> float:
    assert isinstance(found, Fit)
    return float(np.array([1.0, -1.0]) @ found.covariance[:2, :2] @ [1.0, -1.0]) ** 0.5


@pytest.mark.parametrize("workers", [3, 5, 8])
def test_few_workers_of_their_own_have_the_error_of_the_t_test(workers: int) -> None:
    # With so many labels, a conversation's log odds are known: two groups of normal numbers remain.
    leaning = np.random.default_rng(workers).normal(size=(2, workers))
    given, logits = long_talks(leaning, same=False)

    error = error_of_first_two(fit(given))

    assert error == pytest.approx((logits.var(axis=1, ddof=1).sum() / workers) ** 0.5, rel=0.01)
    observed = cells(list(given.values()))
    assert isinstance(observed, Observed)
    by_likelihood = fitted(("a", "b"), observed)
    # Maximum likelihood divides by the number of workers, not by the freedom that is left.
    assert error_of_first_two(by_likelihood) / error == pytest.approx(
        ((workers - 1) / workers) ** 0.5, rel=0.01
    )


@pytest.mark.parametrize("workers", [3, 5, 8])
def test_few_workers_with_both_bots_have_the_error_of_the_paired_t_test(workers: int) -> None:
    rng = np.random.default_rng(workers)
    given, logits = long_talks(
        1.5 * rng.normal(size=workers) + 0.5 * rng.normal(size=(2, workers)), same=True
    )

    error = error_of_first_two(fit(given))

    gaps = logits[0] - logits[1]
    assert error == pytest.approx((gaps.var(ddof=1) / workers) ** 0.5, rel=0.01)


def test_too_few_conversations_with_answers_alike_are_named() -> None:
    # One conversation of each bot is all yes and the others are nearly all no: nothing tells the next one.
    given: dict[Hashable, Sample] = {}
    for bot in (0, 1):
        talk = 3 * bot + np.repeat([0, 1, 2], 30)
        yes = (talk == 3 * bot) | ((np.arange(90) == 89) & (bot == 0))
        given[f"bot {bot}"] = Sample(yes.astype(float), talk, talk)

    (found,) = odds_ratios(given, differences(given))

    assert isinstance(found, Undefined)
    assert found.reason.startswith("There are too few workers or conversations, each with nearly all answers")


def test_simulated_effects_are_found() -> None:
    given = talks(np.random.default_rng(3), better=0.9, workers=80)

    model = fit(given)
    (found,) = odds_ratios(given, differences(given))

    assert isinstance(model, Fit)
    assert model.deviations["conversation or context"] == pytest.approx(0.6, abs=0.15)
    assert model.deviations["worker"] == pytest.approx(0.8, abs=0.2)
    assert not isinstance(found, Undefined)
    assert 1 / found.ratio == pytest.approx(np.exp(0.9), rel=0.2)
    assert found.interval.low < np.exp(-0.9) < found.interval.high
    assert found.interval.high < 1
    assert found.p < 0.001


def test_order_of_rows_and_names_of_workers_change_nothing() -> None:
    given = talks(np.random.default_rng(4), better=0.4, workers=10)
    rng = np.random.default_rng(0)
    other: dict[Hashable, Sample] = {}
    for name, sample in given.items():
        order = rng.permutation(len(sample))
        assert sample.rater is not None
        other[name] = Sample(sample.values[order], sample.cluster[order], 1000 - sample.rater[order])

    (one,), (two,) = (odds_ratios(each, differences(each)) for each in (given, other))

    assert not isinstance(one, Undefined)
    assert not isinstance(two, Undefined)
    assert two.ratio == pytest.approx(one.ratio, rel=1e-4)
    assert two.interval.low == pytest.approx(one.interval.low, rel=1e-4)


def test_single_labels_of_workers_of_their_own_give_the_plain_odds_ratio() -> None:
    def own(yes: int, first: int) -> Sample:
        code = first + np.arange(20)
        return Sample((np.arange(20) < yes).astype(float), code, code)

    given: dict[Hashable, Sample] = {"a": own(15, 0), "b": own(8, 20)}

    (found,) = odds_ratios(given, differences(given))

    # 15 / 5 over 8 / 12; the error of its logarithm is √(1/15 + 1/5 + 1/8 + 1/12) (Woolf 1955).
    assert not isinstance(found, Undefined)
    assert found.ratio == pytest.approx(4.5, rel=1e-4)
    freedom = differences(given)[0].freedom
    half = scipy.stats.t.ppf(0.975, freedom) * (1 / 15 + 1 / 5 + 1 / 8 + 1 / 12) ** 0.5
    assert np.log(found.interval.high / found.ratio) == pytest.approx(half, rel=1e-4)


def test_unidentifiable_models_are_named() -> None:
    half, all_yes = np.array([0.0, 1.0] * 4), np.ones(8)
    code = np.repeat(np.arange(4), 2)
    given: dict[Hashable, Sample] = {
        "a": Sample(half, code, code),
        "b": Sample(1 - half, 4 + code, 4 + code),
        "c": Sample(all_yes, 8 + code, 8 + code),
    }

    ratios = odds_ratios(given, differences(given))
    scale = fit({name: Sample(each.values + 1, each.cluster, each.rater) for name, each in given.items()})

    assert not isinstance(ratios[0], Undefined)
    assert ratios[1] == Undefined("c has yes everywhere or nowhere, so its odds are not finite.")
    assert fit({"b": given["b"], "c": given["c"]}) == Undefined(
        "Fewer than two systems have both yes and no."
    )
    assert scale == Undefined("The answers are not yes or no.")
    many = Sample(
        (np.arange(MOST_CELLS + 1) % 2).astype(float), np.arange(MOST_CELLS + 1), np.arange(MOST_CELLS + 1)
    )
    refused = cells([many, given["a"]])
    assert isinstance(refused, Undefined)
    assert "40005 pairs of a conversation or context and a worker" in refused.reason


def test_an_interval_too_wide_to_say_anything_is_replaced_by_its_reason() -> None:
    model = Fit(("a", "b"), np.array([0.0, 1.0]), 4 * np.eye(2), {}, 0.0)  # an error of √8

    told, of_two_workers = (model.odds_ratio("a", "b", freedom=freedom, level=0.95) for freedom in (100, 1))

    assert not isinstance(told, Undefined)
    assert np.log(told.interval.high) == pytest.approx(-1 + scipy.stats.t.ppf(0.975, 100) * np.sqrt(8))
    assert isinstance(of_two_workers, Undefined)  # 12.7 errors would be a bound of 10^15
    assert "how far the odds ratio of a and b may be from 1" in str(of_two_workers)
