"""The ordinal mixed model against published fits of R's ordinal, definitions and planted effects."""

from collections.abc import Hashable

import numpy as np
import pytest
import scipy

from evaluation.statistics.differences import differences
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.mixed_models.fitting import Fit, OddsRatio
from evaluation.statistics.mixed_models.laplace import Factor
from evaluation.statistics.mixed_models.ordinal import (
    Answers,
    OrdinalFit,
    OrdinalLikelihood,
    cumulative_odds_ratios,
    fit,
    fitted,
)

# Bitterness of wine (Randall 1989), as in R's package ordinal. A line is a judge's; two bottles each of cold
# wine without and with contact, and of warm wine without and with contact.
WINE = """
2 3 3 4 4 4 5 5
1 2 1 3 2 3 5 4
2 3 3 2 5 5 4 4
3 2 3 2 3 2 5 3
2 3 4 3 3 3 3 3
3 2 3 2 2 4 5 4
1 1 2 2 2 3 2 3
2 2 2 3 3 3 3 4
1 2 3 2 3 2 4 4
"""


def wine(*, judges: bool) -> Answers:
    ratings = np.array(WINE.split(), dtype=np.int64) - 1
    warm, contact = (np.tile(each, 9) for each in ([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]))
    factors = (Factor.of("judge", np.repeat(np.arange(9), 8)),) if judges else ()
    return Answers(ratings, np.column_stack([warm, contact]).astype(float), factors)


def test_the_wine_has_the_fit_of_clmm() -> None:
    # clmm(rating ~ temp + contact + (1 | judge), wine): warm 3.0630 (0.5954), contact 1.8349 (0.5125);
    # thresholds -1.6237, 1.5134, 4.2285, 6.0888; variance of judges 1.279; log-likelihood -81.57.
    found = fitted(wine(judges=True))

    assert isinstance(found, OrdinalFit)
    assert found.slopes == pytest.approx([3.0630, 1.8349], abs=1e-4)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx([0.5954, 0.5125], abs=1e-4)
    assert found.thresholds == pytest.approx([-1.6237, 1.5134, 4.2285, 6.0888], abs=1e-4)
    assert found.deviations["judge"] ** 2 == pytest.approx(1.279, abs=1e-3)
    assert found.log_likelihood == pytest.approx(-81.57, abs=0.01)


def test_without_judges_the_wine_has_the_fit_of_clm() -> None:
    # clm(rating ~ temp + contact, wine): 2.5031 (0.5287), 1.5278 (0.4766); log-likelihood -86.49.
    found = fitted(wine(judges=False))

    assert isinstance(found, OrdinalFit)
    assert found.slopes == pytest.approx([2.5031, 1.5278], abs=1e-4)
    assert np.sqrt(np.diag(found.covariance)) == pytest.approx([0.5287, 0.4766], abs=1e-4)
    assert found.thresholds == pytest.approx([-1.3444, 1.2508, 3.4669, 5.0064], abs=1e-4)
    assert found.log_likelihood == pytest.approx(-86.49, abs=0.01)


def crossed(rng: np.random.Generator) -> Answers:
    """Answers about responses in contexts, crossed with raters who lean on two systems differently."""
    context, rater, system = rng.integers(0, [[8], [5], [2]], (3, 150))
    factors = (
        Factor.of("context", context),
        Factor.of("response", 2 * context + system),
        Factor.of("rater", rater),
        Factor.of("rater with system", 2 * rater + system),
    )
    return Answers(rng.integers(0, 4, 150), system[:, None].astype(float), factors)


def by_definition(
    answers: Answers, cuts: np.ndarray, slopes: np.ndarray, variance: dict[str, float]
) -> float:
    """The same approximation with dense matrices, a general optimiser and derivatives by differences."""
    z = np.concatenate([np.eye(f.levels)[f.level] * variance[f.name] ** 0.5 for f in answers.factors], axis=1)
    padded = np.concatenate([[-np.inf], cuts, [np.inf]])

    def log_density(eta: np.ndarray) -> np.ndarray:
        high, low = (scipy.special.expit(padded[answers.answer + each] - eta) for each in (1, 0))
        return np.log(high - low)

    def minus_joint(u: np.ndarray) -> float:
        return float(u @ u / 2 - log_density(answers.design @ slopes + z @ u).sum())

    best = scipy.optimize.minimize(minus_joint, np.zeros(z.shape[1]), method="BFGS", options={"gtol": 1e-7})
    eta, h = answers.design @ slopes + z @ best.x, 1e-4
    second = (log_density(eta + h) - 2 * log_density(eta) + log_density(eta - h)) / h**2
    hessian = np.eye(z.shape[1]) - z.T @ (second[:, None] * z)
    return float(best.fun + np.linalg.slogdet(hessian)[1] / 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_likelihood_is_laplaces_approximation_and_its_gradient_exact(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers = crossed(rng)
    likelihood = OrdinalLikelihood(answers)
    variances = rng.uniform(0.1, 1.5, 4)
    parameters = np.concatenate([[-1.1], np.log([0.9, 1.3]), [0.4], variances])

    value, gradient = likelihood(parameters)

    by_name = {each.name: v for each, v in zip(likelihood.factors, variances.tolist(), strict=True)}
    cuts = np.array([-1.1, -0.2, 1.1])
    assert value == pytest.approx(by_definition(answers, cuts, np.array([0.4]), by_name), abs=1e-4)
    for parameter in range(len(parameters)):
        step = np.zeros_like(parameters)
        step[parameter] = 1e-5
        slope = (likelihood(parameters + step)[0] - likelihood(parameters - step)[0]) / 2e-5
        assert gradient[parameter] == pytest.approx(slope, abs=1e-5)


def two_systems(seed: int, gap: float) -> dict[Hashable, Sample]:
    """100 contexts, answered by both and judged by 4 of 12 raters on a scale of five points."""
    rng = np.random.default_rng(seed)
    rater = np.argsort(rng.random((100, 2, 12)), axis=2)[:, :, :4].ravel()
    context, system = np.repeat(np.arange(100), 8), np.tile(np.repeat([0, 1], 4), 100)
    eta = gap * (1 - system) + rng.normal(size=100)[context] + 0.5 * rng.normal(size=12)[rater]
    answer = np.searchsorted([-2.0, -0.5, 0.8, 2.0], eta + rng.logistic(size=800)) + 1.0
    return {
        name: Sample(answer[system == s], context[system == s], rater[system == s])
        for s, name in enumerate(("first", "second"))
    }


def test_planted_effects_are_recovered() -> None:
    ratios = []
    for seed in range(4):
        given = two_systems(seed, 1.0)
        (found,) = cumulative_odds_ratios(given, differences(given, low=1, high=5))
        assert isinstance(found, OddsRatio)
        assert found.interval.low < found.ratio < found.interval.high
        ratios.append(np.log(found.ratio))
    model = fit(two_systems(1, 1.0))

    assert np.mean(ratios) == pytest.approx(1.0, abs=0.15)
    assert isinstance(model, Fit)
    of_contexts = [model.deviations[f"conversation or context{each}"] for each in ("", " with a system")]
    assert np.linalg.norm(of_contexts) == pytest.approx(1.0, abs=0.25)


@pytest.mark.parametrize("workers", [3, 5])
def test_few_workers_have_the_error_of_the_t_test(workers: int) -> None:
    # With so many answers, what each worker thinks of a system is known: two groups of normal numbers remain.
    rng = np.random.default_rng(workers)
    leaning = rng.normal(size=(2, workers))
    worker = np.repeat(np.arange(workers), 2_000)
    given: dict[Hashable, Sample] = {}
    for system in (0, 1):
        eta = leaning[system, worker] + rng.logistic(size=len(worker))
        answer = np.searchsorted([-2.0, -0.5, 0.8, 2.0], eta) + 1.0
        given[f"system {system}"] = Sample(answer, workers * system + worker, workers * system + worker)

    found = fit(given)

    assert isinstance(found, Fit)
    error = (np.array([1.0, -1.0]) @ found.covariance @ [1.0, -1.0]) ** 0.5
    # Dividing by the number of workers, as maximum likelihood does, is 11 or 18 % off.
    assert error == pytest.approx((leaning.var(axis=1, ddof=1).sum() / workers) ** 0.5, rel=0.05)


def test_two_points_give_the_logistic_model() -> None:
    # Of yes and no, the model is the logistic one, which is fitted by other code.
    from evaluation.statistics.mixed_models import logistic

    given = {
        name: Sample((each.values > 3).astype(float), each.cluster, each.rater)
        for name, each in two_systems(3, 0.7).items()
    }
    theirs = logistic.fit(given)
    assert isinstance(theirs, Fit)
    answer = np.concatenate([each.values for each in given.values()]).astype(np.int64)
    context, rater = (
        np.concatenate([getattr(each, name) for each in given.values()]) for name in ("cluster", "rater")
    )
    system = np.repeat([0, 1], 400)
    named = {
        "conversation or context": context,
        "conversation or context with a system": 2 * context + system,
        "worker": rater,
        "worker with a system": 2 * rater + system,
    }
    factors = tuple(Factor.of(name, codes) for name, codes in named.items())

    ours = fitted(Answers(answer, system[:, None].astype(float), factors), system)

    assert isinstance(ours, OrdinalFit)
    contrast = np.array([1.0, -1.0])
    assert ours.covariance[0, 0] == pytest.approx(contrast @ theirs.covariance @ contrast, rel=1e-3)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, abs=1e-4)
    assert ours.slopes[0] == pytest.approx(theirs.log_odds[1] - theirs.log_odds[0], abs=1e-3)


def test_adding_a_constant_or_stretching_the_scale_changes_nothing() -> None:
    given = two_systems(5, 0.5)
    stretched = {name: Sample(np.exp(each.values), each.cluster, each.rater) for name, each in given.items()}

    one, other = fit(given), fit(stretched)

    assert isinstance(one, Fit)
    assert isinstance(other, Fit)
    assert one.log_odds == pytest.approx(other.log_odds)


@pytest.mark.parametrize(
    ("values", "says"),
    [([5.0, 5.0, 5.0, 5.0], "Fewer than two systems"), ([1.0, 2.0, 1.0, 2.0], "2 different answers")],
)
def test_what_cannot_be_fitted_has_a_reason(values: list[float], says: str) -> None:
    codes = np.arange(4)
    given: dict[Hashable, Sample] = {
        "a": Sample(np.array(values), codes, codes),
        "b": Sample(np.array([1.0, 2.0, 2.0, 1.0]), codes + 10, codes + 10),
    }

    found = fit(given)

    assert isinstance(found, Undefined)
    assert says in found.reason


def test_a_system_with_the_highest_answer_only_has_no_odds_ratio() -> None:
    given = {**two_systems(2, 0.5), "top": Sample(np.full(20, 5.0), np.arange(20), np.arange(20))}

    found = cumulative_odds_ratios(given, differences(given, low=1, high=5))

    assert [isinstance(each, OddsRatio) for each in found] == [True, False, False]
    assert isinstance(found[1], Undefined)
    assert found[1].reason == "top has only the lowest or only the highest answer."


def test_systems_whose_answers_do_not_overlap_have_no_finite_ratio() -> None:
    codes = np.arange(12)
    given: dict[Hashable, Sample] = {
        "low": Sample(np.tile([1.0, 2.0], 6), codes, codes),
        "high": Sample(np.tile([4.0, 5.0], 6), codes + 20, codes + 20),
    }

    (found,) = cumulative_odds_ratios(given, differences(given, low=1, high=5))

    assert isinstance(found, Undefined)
    assert "do not overlap" in found.reason
