"""Coverage of the intervals. Simulated studies with clustered labels and known truth.

Run: python benchmarks/coverage.py [--studies 1000] [--seed 1] [--only "mixed model"]

Prints JSON. For every interval: the share of studies whose 95 % interval holds the planted truth, its mean
width, and how the variance that it claims compares with the variance between studies. `docs/statistics.md`
holds the table of a full run.
"""

import argparse
import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator
from scipy.special import expit, logit

from evaluation.planning.sequential import always_valid_difference, always_valid_mean
from evaluation.questions.sets.ssa import SSA as ASKED
from evaluation.rater_agreement.rater_models import ModelledLabels, fitted_models
from evaluation.rater_agreement.ratings import Ratings
from evaluation.rater_agreement.reliability import alpha
from evaluation.report.intervals import TERMS
from evaluation.report.label_columns import Judged
from evaluation.report.leader import CONVERSATIONS, Arrivals, always_valid, batches, lead_of_raters
from evaluation.statistics.bootstrap import SENSIBLENESS, SSA, cluster_interval, percentile
from evaluation.statistics.comparison import compare
from evaluation.statistics.differences import difference, differences
from evaluation.statistics.effect_sizes import EffectSize
from evaluation.statistics.inference import Sample, mean
from evaluation.statistics.interval import Interval, Method, Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.linear_models.regression import pearson
from evaluation.statistics.mixed_models.fitting import OddsRatio
from evaluation.statistics.mixed_models.logistic import odds_ratios
from evaluation.statistics.mixed_models.ordinal import cumulative_odds_ratios
from evaluation.statistics.resampling import resampled_sums

SENSIBLE, SPECIFIC_IF_SENSIBLE = 0.8, 0.7
TRUE_SSA = SENSIBLE * (1 + SPECIFIC_IF_SENSIBLE) / 2
CONCENTRATION = 4.0  # of the beta distribution of rates: intraclass correlation 1 / (4 + 1) = 0.2
NEARLY_ALIKE = 20.0  # concentration of conversations that hardly differ
RESAMPLES = 2_000
LEANING = 0.8  # standard deviation, in logits, of workers, of raters and of conversations
EASE = 1.5  # of contexts that are judged
GAP = 0.5  # log odds ratio of two bots by the mixed model
EFFECT = 0.5  # Cohen's d of two bots with normal scores
EFFECT_NAMES = {"odds_ratio": "odds ratio as counted", "effect": "Cohen's d"}


@dataclass(frozen=True)
class Study:
    """One simulated study: its estimate and its interval."""

    estimate: float | Undefined
    interval: Interval | Undefined


@dataclass(frozen=True)
class Design:
    """A kind of study, with the truth that it estimates."""

    name: str
    truth: float
    simulate: Callable[[Generator], Study]


def conversations(rng: Generator, k: int, *, sensible: float = SENSIBLE) -> FloatArray:
    """(k, 3) sums of sensible, specific and turns: 7 to 14 turns, rates differ between conversations."""
    turns = rng.integers(7, 15, k)
    share = rng.beta(CONCENTRATION * sensible, CONCENTRATION * (1 - sensible), k)
    ones = rng.binomial(turns, share)
    return np.column_stack([ones, rng.binomial(ones, SPECIFIC_IF_SENSIBLE), turns]).astype(np.float64)


def score(rows: FloatArray) -> float:
    """SSA of sums per conversation."""
    return float(SSA(rows.sum(axis=0)[None])[0])


def ssa_study(rng: Generator, k: int, method: Method) -> Study:
    """SSA with an interval over k conversations."""
    rows = conversations(rng, k)
    return Study(score(rows), cluster_interval(rows, SSA, rng, resamples=RESAMPLES, method=method))


def naive_study(rng: Generator, k: int) -> Study:
    """Counterexample: the interval that treats every label as an independent observation."""
    rows = conversations(rng, k)
    sensible, specific, turns = rows.sum(axis=0).astype(int).tolist()
    both = np.repeat(
        [[1.0, 1, 1], [1, 0, 1], [0, 0, 1]], [specific, sensible - specific, turns - sensible], axis=0
    )
    return Study(score(rows), cluster_interval(both, SSA, rng, resamples=RESAMPLES))


def labelled(rng: Generator, k: int, *, sensible: float = SENSIBLE, first: int = 0) -> Sample:
    """The SSA of k conversations, each of a worker of its own, as single labels."""
    rows = conversations(rng, k, sensible=sensible).astype(int)
    turns = rows[:, 2]
    values = np.concatenate([np.repeat([1.0, 0.5, 0.0], [b, y - b, t - y]) for y, b, t in rows.tolist()])
    code = first + np.repeat(np.arange(k), turns)
    return Sample(values, code, code)


def of(sample: Sample) -> Study:
    """The score of a sample with its interval."""
    found = mean(sample)
    return Study(found, found) if isinstance(found, Undefined) else Study(found.value, found.interval)


def between(first: Sample, second: Sample) -> Study:
    """The difference of two samples with its interval."""
    found = difference(first, second)
    return Study(found.difference, found.interval)


def score_study(rng: Generator, k: int, sensible: float = SENSIBLE) -> Study:
    """SSA of k conversations, as every page gives it."""
    return of(labelled(rng, k, sensible=sensible))


def difference_study(rng: Generator, k: int) -> Study:
    """Difference of two bots with k conversations each."""
    return between(labelled(rng, k), labelled(rng, k, sensible=0.7, first=1_000))


def near_ceiling_bots(
    rng: Generator, k: tuple[int, int], sensible: tuple[float, float]
) -> tuple[Sample, Sample]:
    """Two bots with k conversations of 14 to 28 replies, nearly all of them sensible."""

    def sample(number: int, first: int, share: float) -> Sample:
        turns = rng.integers(14, 29, number)
        ones = rng.binomial(turns, rng.beta(NEARLY_ALIKE * share, NEARLY_ALIKE * (1 - share), number))
        values = np.concatenate([np.arange(t) < n for t, n in zip(turns, ones, strict=True)])
        code = first + np.repeat(np.arange(number), turns)
        return Sample(values.astype(np.float64), code, code)

    return sample(k[0], 0, sensible[0]), sample(k[1], 1_000, sensible[1])


def near_ceiling_study(rng: Generator, k: tuple[int, int], sensible: float) -> Study:
    """Difference of two equal bots that are nearly always sensible."""
    return between(*near_ceiling_bots(rng, k, (sensible, sensible)))


def paired_study(rng: Generator, contexts: int, missing: int = 0) -> Study:
    """Difference of two bots on the same contexts, five labels each; contexts differ in ease."""
    ease = np.repeat(rng.beta(3.2, 0.8, contexts), 5)
    code = np.repeat(np.arange(contexts), 5)
    better, worse = ((rng.random(len(ease)) < ease * rate).astype(float) for rate in (1.0, 0.9))
    kept = code >= missing
    return between(Sample(better, code), Sample(worse[kept], code[kept]))


def chats(
    rng: Generator, k: int, each: int, leaning: FloatArray, first: int = 0, base: float = 1.2
) -> Sample:
    """K conversations of 8 turns of workers with so many each; workers and conversations lean."""
    worker = np.arange(k) // each
    rate = expit(base + leaning[worker] + LEANING * rng.normal(size=k))
    code = np.repeat(np.arange(k), 8)
    return Sample((rng.random(8 * k) < rate[code]).astype(float), first + code, worker[code])


def workers_study(rng: Generator, each: int) -> Study:
    """Sensibleness of 60 conversations of workers who have several."""
    return of(chats(rng, 60, each, LEANING * rng.normal(size=60)))


def equal_bots_study(rng: Generator, each: int, same: bool) -> Study:
    """Two equal bots with 60 conversations each, of the same workers or of workers of their own."""
    first, second = LEANING * rng.normal(size=(2, 60))
    one, other = chats(rng, 60, each, first), chats(rng, 60, each, first if same else second, first=1_000)
    workers = other.rater if same or other.rater is None else other.rater + 1_000
    return between(one, Sample(other.values, other.cluster, workers))


def mixed_study(rng: Generator, each: int) -> Study:
    """The mixed model's log odds ratio of two bots, 60 conversations each, of workers of their own."""
    first, second = LEANING * rng.normal(size=(2, 60))
    one, other = chats(rng, 60, each, first, base=1.2 + GAP), chats(rng, 60, each, second, first=1_000)
    assert other.rater is not None
    given: Mapping[Hashable, Sample] = {
        "a": one,
        "b": Sample(other.values, other.cluster, other.rater + 1_000),
    }
    return _log_odds(given)


def mixed_judged_study(rng: Generator, pool: int) -> Study:
    """Mixed-model coverage for two bots on 200 contexts, judged by raters with different leanings per bot."""
    item, bot, rater, answer = judged(rng, 200, pool, bots=2, gap=GAP)
    return _log_odds({b: Sample(answer[bot == b], item[bot == b], rater[bot == b]) for b in (1, 0)})


def ordinal_study(rng: Generator, pool: int, each: int = 0) -> Study:
    """The ordinal mixed model's log odds ratio of two bots on a scale of five points.

    Either 100 contexts are judged by 3 of a pool of raters who lean on each bot differently, or, with `each`,
    60 conversations of each bot have 4 answers of workers of their own with so many conversations.
    """
    if each:
        system, cluster = np.repeat([0, 1], 240), np.repeat(np.arange(120), 4)
        rater = cluster // each + 1_000 * system
        worker = LEANING * rng.normal(size=2_000)[rater]
    else:
        rater = np.argsort(rng.random((100, 2, pool)), axis=2)[:, :, :3].ravel()
        cluster, system = np.repeat(np.arange(100), 6), np.tile(np.repeat([0, 1], 3), 100)
        worker = LEANING * rng.normal(size=(2, pool))[system, rater]
    eta = GAP * (1 - system) + LEANING * rng.normal(size=120)[cluster] + worker
    noise = rng.logistic(size=len(eta))
    answer = np.searchsorted([-2.0, -0.5, 0.8, 2.0], eta + noise).astype(float) + 1
    given: dict[Hashable, Sample] = {
        name: Sample(answer[system == s], cluster[system == s], rater[system == s])
        for s, name in enumerate("ab")
    }
    (found,) = cumulative_odds_ratios(given, differences(given, low=1, high=5))
    return _log_ratio(found)


def rated(rng: Generator, k: int) -> ModelledLabels:
    """Whether replies are sensible: k conversations of 4 turns, judged by 4 of 6 raters each.

    Five raters are right in 85 % of cases, the sixth says yes to everything.
    """
    units = 4 * k
    rates = rng.beta(CONCENTRATION * SENSIBLE, CONCENTRATION * (1 - SENSIBLE), k)
    truth = rng.random(units) < np.repeat(rates, 4)
    rater = np.argsort(rng.random((units, 6)), axis=1)[:, :4].ravel()
    unit = np.repeat(np.arange(units), 4)
    answer = np.where(rng.random(4 * units) < 0.85, truth[unit], ~truth[unit]) | (rater == 5)
    ratings = Ratings.from_columns(unit, rater, answer.astype(float))
    return ModelledLabels(ratings, np.zeros(units, np.int64), np.ones(units), np.arange(units) // 4)


def rater_models_study(rng: Generator, k: int, model: str) -> Study:
    """The share of sensible replies by a model of raters."""
    found = fitted_models(rated(rng, k), rng)
    if isinstance(found, Undefined):
        return Study(found, found)
    shares = found.shares[model]
    return Study(float(shares.values[0, 1]), shares.interval(0, 1))


def bots_study(rng: Generator, each: int) -> tuple[Sample, Sample]:
    """Two bots that differ by a log odds ratio, 60 conversations each, of workers of their own."""
    first, second = LEANING * rng.normal(size=(2, 60))
    one, other = chats(rng, 60, each, first, base=1.2 + GAP), chats(rng, 60, each, second, first=1_000)
    assert other.rater is not None
    return one, Sample(other.values, other.cluster, other.rater + 1_000)


def judged_bots_study(rng: Generator, pool: int) -> tuple[Sample, Sample]:
    """Two bots that differ by a log odds ratio on 200 contexts, judged by raters who lean on each."""
    item, bot, rater, answer = judged(rng, 200, pool, bots=2, gap=GAP)
    first, second = (Sample(answer[bot == b], item[bot == b], rater[bot == b]) for b in (1, 0))
    return first, second


def normal_bots_study(rng: Generator, k: tuple[int, int]) -> tuple[Sample, Sample]:
    """Two bots whose conversations have normal scores, half a standard deviation apart."""
    codes = np.arange(k[0]), 1_000 + np.arange(k[1])
    first, second = (Sample(0.1 * rng.normal(size=len(code)) + 0.5, code, code) for code in codes)
    return Sample(first.values + 0.1 * EFFECT, first.cluster, first.rater), second


def effect_size_study(rng: Generator, what: str, pair: Callable[[Generator], tuple[Sample, Sample]]) -> Study:
    """An effect size of two bots: the odds ratio on the log scale, or d."""
    found: EffectSize | Undefined = getattr(difference(*pair(rng), low=-9, high=9), what)
    if isinstance(found, Undefined):
        return Study(found, found)
    if what == "effect" or isinstance(found.interval, Undefined):
        return Study(found.value, found.interval)
    low, high = np.log([found.interval.low, found.interval.high]).tolist()
    return Study(float(np.log(found.value)), Interval(low, high, found.interval.level, "log odds t"))


def _log_odds(given: Mapping[Hashable, Sample]) -> Study:
    (found,) = odds_ratios(given, differences(given))
    return _log_ratio(found)


def _log_ratio(found: OddsRatio | Undefined) -> Study:
    if isinstance(found, Undefined):
        return Study(found, found)
    low, high = float(np.log(found.interval.low)), float(np.log(found.interval.high))
    return Study(float(np.log(found.ratio)), Interval(low, high, found.interval.level, "mixed model"))


def judged(
    rng: Generator, items: int, pool: int, bots: int = 1, gap: float = 0.0
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Item, bot, rater and answer where 5 of a pool of raters judge each response of each bot.

    Items lean, and so do raters, anew for every bot; each bot is ahead of the one before by a log odds ratio.
    """
    rater = np.argsort(rng.random((items, bots, pool)), axis=2)[:, :, :5].ravel()
    per = min(5, pool)
    item, bot = np.repeat(np.arange(items), bots * per), np.tile(np.repeat(np.arange(bots), per), items)
    leaning = LEANING * rng.normal(size=(bots, pool))
    rate = expit(0.8 + gap * bot + EASE * rng.normal(size=items)[item] + leaning[bot, rater])
    return item, bot, rater, (rng.random(len(item)) < rate).astype(float)


def judging_study(rng: Generator, pool: int) -> Study:
    """Sensibleness of 200 responses judged by a pool of raters who lean."""
    item, _, rater, answer = judged(rng, 200, pool)
    return of(Sample(answer, item, rater))


def equal_judged_study(rng: Generator, pool: int) -> Study:
    """Two equal bots on the same 200 contexts, judged by a pool of raters who lean on each differently."""
    item, bot, rater, answer = judged(rng, 200, pool, bots=2)
    one, other = (Sample(answer[bot == b], item[bot == b], rater[bot == b]) for b in (0, 1))
    return between(one, other)


def agreed_study(rng: Generator, raters: int) -> Study:
    """Two equal bots on the same 100 contexts; the same raters judge each response by its own quality."""
    context, rater = np.repeat(np.arange(100), raters), np.tile(np.arange(raters), 100)
    rates = expit(0.8 + 2 * rng.normal(size=(2, 100)))[:, context]
    answers = (rng.random(rates.shape) < rates).astype(float)
    return between(*(Sample(answer, context, rater) for answer in answers))


def alpha_study(rng: Generator, units: int, pool: int) -> Study:
    """Alpha of 5 of a pool of raters who lean."""
    item, _, rater, answer = judged(rng, units, pool)
    return _alpha(Ratings.from_columns(item, rater, answer), None)


def turns_alpha_study(rng: Generator, k: int) -> Study:
    """Alpha of 8 turns of each of k conversations, each read by 3 of 60 raters who do not lean."""
    talk = np.repeat(np.arange(k), 8)
    ease = expit(0.8 + 1.2 * rng.normal(size=k)[talk] + 0.9 * rng.normal(size=len(talk)))
    readers = np.argsort(rng.random((k, 60)), axis=1)[:, :3]
    turn = np.repeat(np.arange(len(talk)), 3)
    answer = rng.random(len(turn)) < ease[turn]
    return _alpha(Ratings.from_columns(turn, readers[talk].ravel(), answer), talk)


def _alpha(ratings: Ratings, clusters: IntArray | None) -> Study:
    found = alpha(ratings, clusters=clusters)
    return Study(found, found) if isinstance(found, Undefined) else Study(found.value, found.interval)


def expected(base: float, *deviations: float) -> float:
    """Mean of the rate whose logit is normal, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    total = float(np.sqrt(sum(deviation**2 for deviation in deviations)))
    return float(weights @ expit(base + total * nodes) / weights.sum())


def log_odds_ratio(base: float, *deviations: float) -> float:
    """Log odds ratio of the mean rates of two bots whose logits are `GAP` apart."""
    first, second = (logit(expected(each, *deviations)) for each in (base + GAP, base))
    return float(first - second)


def expected_effect(base: float, labels: int, *deviations: float) -> float:
    """Cohen's d of two bots whose logits are `GAP` apart, of means over labels of one conversation."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    within, between = deviations[:-1], deviations[-1]
    variances = []
    for mean_logit in (base + GAP, base):
        rates = np.array([expected(mean_logit + between * node, *within) for node in nodes])
        share = weights @ rates
        variances.append(weights @ (rates - share) ** 2 + weights @ (rates - rates**2) / labels)
    first, second = (expected(each, *deviations) for each in (base + GAP, base))
    return (first - second) / float(np.sqrt(np.mean(variances)))


def expected_alpha(leaning: float) -> float:
    """Alpha of raters drawn at random: variance of the items' rates over that of a single answer."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    rates = expit(0.8 + EASE * nodes[:, None] + leaning * nodes) @ weights
    share = float(weights @ rates)
    return float((weights @ rates**2 - share**2) / (share - share**2))


def correlation_study(rng: Generator, points: int) -> Study:
    """Pearson's correlation of bivariate normal points."""
    x, noise = rng.normal(size=(2, points))
    found = pearson(x, -0.9 * x + np.sqrt(1 - 0.81) * noise)
    if isinstance(found, Undefined):
        return Study(found, found)
    return Study(found.value, found.interval)


def watched_study(rng: Generator, k: int) -> Study:
    """Always-valid interval: it must hold the truth at all k moments, so a miss at any moment counts."""
    scores = rng.binomial(7, rng.beta(CONCENTRATION * 0.8, CONCENTRATION * 0.2, k)) / 7
    sequence = always_valid_mean(scores)
    held = bool(((sequence.low <= SENSIBLE) & (sequence.high >= SENSIBLE)).all())
    low, high = (float(sequence.low[-1]), float(sequence.high[-1])) if held else (2.0, 3.0)
    return Study(float(scores.mean()), Interval(low, high, 0.95, "always valid"))


def lead(judged: Judged, arrivals: Arrivals = CONVERSATIONS) -> Study:
    """The lead of bot a over bot b as a report watches it.

    Its ends never widen, so an interval that holds the truth held it at every look.
    """
    found = always_valid(ASKED, judged, {"leader": "a", "next": "b", "systems": 2}, TERMS, arrivals)
    assert found is not None
    if "undefined" in found:
        return Study(Undefined(found["undefined"]), Undefined(found["undefined"]))
    values = judged.answers["sensible"]
    estimate = 100 * float(values[judged.bot == "a"].mean() - values[judged.bot == "b"].mean())
    return Study(estimate, Interval(found["low"], found["high"], 0.95, "always valid"))


def as_judged(bot: IntArray, cluster: IntArray, rater: IntArray, answer: FloatArray) -> Judged:
    """Labels of bots a and b, sensible and specific alike."""
    none = np.full(len(bot), np.nan)
    names = np.array([f"w{each:04}" for each in rater.tolist()], dtype=object)
    return Judged(
        np.where(bot == 0, "a", "b").astype(object), cluster, np.arange(1, len(bot) + 1), names, none, none,
        {"sensible": answer, "specific": answer},
    )  # fmt: skip


def watched_lead_study(rng: Generator, each: int, independent: bool = False) -> Study:
    """Two equal bots; 120 conversations of workers who lean on each bot differently, with so many each.

    Args:
        rng: seeded generator.
        each: conversations of each worker.
        independent: whether to take every conversation for one of a worker of its own, which it is not.
    """
    k = 120
    worker, bot = np.arange(k) // each, rng.integers(0, 2, k)
    leaning = LEANING * rng.normal(size=(2, k))
    rate = expit(1.2 + leaning[bot, worker] + LEANING * rng.normal(size=k))
    code = np.repeat(np.arange(k), 8)
    answer = (rng.random(8 * k) < rate[code]).astype(float)
    return lead(as_judged(bot[code], code, code if independent else worker[code], answer))


_EASE_OF_CONTEXTS = np.random.default_rng(7).normal(size=(2, 100))


def dealt(rng: Generator, raters: int) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Context, bot, rater and rate: 1,000 slots of 100 contexts and two bots, in an order of chance.

    Each rater gets the next ones, as the queue deals them, and leans on each bot differently.
    """
    slots = rng.permutation(np.repeat(np.arange(200), 5))
    context, bot = np.divmod(slots, 2)
    rater = np.arange(1000) // (1000 // raters)
    leaning = LEANING * rng.normal(size=(2, raters))
    return context, bot, rater, expit(0.8 + EASE * _EASE_OF_CONTEXTS[bot, context] + leaning[bot, rater])


def true_lead() -> float:
    """Of bot a in these contexts, over all raters, in points."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    rates = expit(0.8 + EASE * _EASE_OF_CONTEXTS[..., None] + LEANING * nodes) @ (weights / weights.sum())
    return 100 * float(rates[0].mean() - rates[1].mean())


def watched_queue_study(rng: Generator, raters: int) -> Study:
    """The lead among responses that raters judge batch by batch."""
    context, bot, rater, rate = dealt(rng, raters)
    judged = as_judged(bot, context, rater, (rng.random(1000) < rate).astype(float))
    return lead(judged, batches(judged.rater, 1000 // raters))


def watched_contexts_study(rng: Generator, raters: int) -> Study:
    """Counterexample: contexts watched in sequence, although the same raters judge all of them."""
    context, bot, _, rate = dealt(rng, raters)
    answer = (rng.random(1000) < rate).astype(float)
    a, b = (np.bincount(context[bot == n], answer[bot == n]) / 5 for n in (0, 1))
    found = always_valid_difference(a, b).now()
    return Study(100 * float((a - b).mean()), found.scaled(100) if isinstance(found, Interval) else found)


def watched_pairs_study(rng: Generator, raters: int) -> Study:
    """Wins less losses of two equal systems in pairs that raters who lean judge batch by batch."""
    rater = np.arange(1000) // (1000 // raters)
    for_first = expit(LEANING * rng.normal(size=raters)[rater] + LEANING * rng.normal(size=1000))
    outcome = np.where(rng.random(1000) < 0.3, 0.0, np.where(rng.random(1000) < for_first, 1.0, -1.0))
    apart = outcome.reshape(raters, -1).mean(axis=1)
    found = lead_of_raters(apart, 0.95, Arrivals(()))
    assert not isinstance(found, str)
    return Study(float(apart.mean()), Interval(found[0], found[1], 0.95, "always valid"))


def designs_of_leads() -> Iterator[Design]:
    """Leads that are looked at after every conversation, or after every rater."""
    for each in (1, 5):
        simulate = partial(watched_lead_study, each=each)
        yield Design(f"always valid lead, 120 conversations, workers with {each} each", 0.0, simulate)
    simulate = partial(watched_lead_study, each=20, independent=True)
    yield Design("always valid lead, workers with 20 each taken for independent", 0.0, simulate)
    for raters in (10, 50):
        simulate = partial(watched_queue_study, raters=raters)
        yield Design(f"always valid lead, 1,000 judgments of {raters} raters", true_lead(), simulate)
    simulate = partial(watched_contexts_study, raters=10)
    yield Design("always valid lead, context by context, 10 raters", true_lead(), simulate)
    yield Design("always valid lead, 1,000 pairs, 50 raters", 0.0, partial(watched_pairs_study, raters=50))


def designs() -> Iterator[Design]:
    """All kinds of study."""
    yield from designs_of_scores()
    yield from designs_of_differences()
    yield from designs_near_the_ceiling()
    for pool in (5, 10, 25, 60):
        simulate = partial(alpha_study, units=300, pool=pool)
        yield Design(f"alpha, 300 items, 5 of {pool} raters who lean", expected_alpha(LEANING), simulate)
    for k in (5, 10, 20, 60):
        simulate = partial(turns_alpha_study, k=k)
        yield Design(f"alpha, {k} conversations of 8 turns, 3 readers", expected_alpha(0.0), simulate)
    yield Design("Pearson's correlation, 12 bots", -0.9, partial(correlation_study, points=12))
    yield Design("always valid, watched 200 times", SENSIBLE, partial(watched_study, k=200))
    yield from designs_of_leads()
    yield from designs_to_check_with()


def designs_of_scores() -> Iterator[Design]:
    """Scores as every page and the command line give them."""
    for k in (3, 5, 10, 20, 100):
        yield Design(f"SSA, {k} conversations", TRUE_SSA, partial(score_study, k=k))
    for k in (10, 50):
        truth = 0.95 * (1 + SPECIFIC_IF_SENSIBLE) / 2
        simulate = partial(score_study, k=k, sensible=0.95)
        yield Design(f"SSA, {k} conversations, 95 % sensible", truth, simulate)
    for each in (1, 3, 5, 10):
        name = f"sensibleness, 60 conversations, workers with {each} each"
        yield Design(name, expected(1.2, LEANING, LEANING), partial(workers_study, each=each))
    for pool in (2, 3, 5, 10, 25, 60):
        name = f"sensibleness, 200 items, {min(pool, 5)} of {pool} raters who lean"
        yield Design(name, expected(0.8, EASE, LEANING), partial(judging_study, pool=pool))


def designs_of_differences() -> Iterator[Design]:
    """Differences; a bot that is equal to another is called different where the interval misses 0."""
    gap = (SENSIBLE - 0.7) * (1 + SPECIFIC_IF_SENSIBLE) / 2
    for k in (3, 5, 10, 100):
        yield Design(f"difference of SSA, {k} conversations each", gap, partial(difference_study, k=k))
    for contexts, missing in ((10, 0), (300, 0), (300, 30)):
        name = f"difference, {contexts} contexts, {missing} of them missing for one"
        yield Design(name, 0.08, partial(paired_study, contexts=contexts, missing=missing))
    for each in (1, 3, 5, 10):
        for same in (False, True):
            whose = "the same workers" if same else "workers of their own"
            name = f"two equal bots, 60 conversations each, {whose} with {each} each"
            yield Design(name, 0.0, partial(equal_bots_study, each=each, same=same))
    yield from designs_of_mixed_models()
    yield from designs_of_rater_models()
    yield from designs_of_effect_sizes()
    for pool in (5, 10, 25, 60):
        name = f"two equal bots, 200 contexts, 5 of {pool} raters who lean on each differently"
        yield Design(name, 0.0, partial(equal_judged_study, pool=pool))
    for raters in (2, 3, 5):
        name = f"two equal bots, 100 contexts, {raters} of {raters} raters who agree by each response"
        yield Design(name, 0.0, partial(agreed_study, raters=raters))


def designs_of_mixed_models() -> Iterator[Design]:
    """Odds ratios of mixed models, of yes and of a higher answer."""
    for each in (1, 3, 5, 10):
        name = f"mixed model, log odds ratio, 60 conversations each, workers of their own with {each} each"
        yield Design(name, GAP, partial(mixed_study, each=each))
    for pool in (10, 25):
        name = f"mixed model, log odds ratio, 200 contexts, 5 of {pool} raters who lean on each differently"
        yield Design(name, GAP, partial(mixed_judged_study, pool=pool))
    for each in (1, 3, 10):
        name = f"ordinal mixed model, 60 conversations each, workers of their own with {each} each"
        yield Design(name, GAP, partial(ordinal_study, pool=0, each=each))
    for pool in (5, 10, 25):
        name = f"ordinal mixed model, 100 contexts, 3 of {pool} raters who lean on each differently"
        yield Design(name, GAP, partial(ordinal_study, pool=pool))


def designs_of_rater_models() -> Iterator[Design]:
    """Shares of true answers by models of raters."""
    for k in (20, 60):
        for model in ("dawid_skene", "mace"):
            name = f"model of raters, {model}, {k} conversations of 4 turns, 4 of 6 raters"
            yield Design(name, SENSIBLE, partial(rater_models_study, k=k, model=model))


def designs_of_effect_sizes() -> Iterator[Design]:
    """Effect sizes of two bots that differ."""
    both = float(np.hypot(LEANING, LEANING))
    of_chats = log_odds_ratio(1.2, LEANING, LEANING), expected_effect(1.2, 8, both)
    of_judged = log_odds_ratio(0.8, EASE, LEANING), expected_effect(0.8, 5, LEANING, EASE)
    kinds = ("odds_ratio", "effect")
    for what, truth in zip(kinds, of_chats, strict=True):
        for each in (1, 3, 10):
            name = f"{EFFECT_NAMES[what]}, 60 conversations each, workers of their own with {each} each"
            simulate = partial(effect_size_study, what=what, pair=partial(bots_study, each=each))
            yield Design(name, truth, simulate)
    for what, truth in zip(kinds, of_judged, strict=True):
        for pool in (5, 10, 25, 60):
            name = f"{EFFECT_NAMES[what]}, 200 contexts, 5 of {pool} raters who lean on each differently"
            simulate = partial(effect_size_study, what=what, pair=partial(judged_bots_study, pool=pool))
            yield Design(name, truth, simulate)
    for k in ((20, 60), (60, 60)):
        name = f"{EFFECT_NAMES['odds_ratio']}, 97 and 93 % sensible, {k[0]} and {k[1]} conversations"
        pair = partial(near_ceiling_bots, k=k, sensible=(0.97, 0.93))
        simulate = partial(effect_size_study, what="odds_ratio", pair=pair)
        yield Design(name, float(logit(0.97) - logit(0.93)), simulate)
    for k in ((5, 5), (10, 10), (10, 40), (60, 60)):
        name = f"Cohen's d, {k[0]} and {k[1]} conversations with normal scores"
        simulate = partial(effect_size_study, what="effect", pair=partial(normal_bots_study, k=k))
        yield Design(name, EFFECT, simulate)


def designs_near_the_ceiling() -> Iterator[Design]:
    """Two equal bots that are nearly always sensible."""
    for sensible in (0.9, 0.97, 0.98, 0.99):
        for numbers in ((20, 60), (10, 40), (60, 60)):
            counts = f"{numbers[0]} and {numbers[1]} conversations"
            name = f"two equal bots near the ceiling, {sensible:.0%} sensible, {counts}"
            yield Design(name, 0.0, partial(near_ceiling_study, k=numbers, sensible=sensible))


def designs_to_check_with() -> Iterator[Design]:
    """The bootstraps, and what to avoid."""
    methods: tuple[Method, ...] = ("percentile", "bca", "studentised")
    for k in (10, 20, 100):
        for method in methods:
            simulate = partial(ssa_study, k=k, method=method)
            yield Design(f"SSA, {k} conversations, {method} bootstrap", TRUE_SSA, simulate)
    naive = partial(naive_study, k=100)
    yield Design("SSA, 100 conversations, labels taken for independent", TRUE_SSA, naive)


def run(design: Design, studies: int, seed: int) -> dict[str, object]:
    """Simulate the design many times."""
    done = [design.simulate(rng) for rng in np.random.default_rng(seed).spawn(studies)]
    intervals = [s.interval for s in done if isinstance(s.interval, Interval)]
    held = sum(interval.low <= design.truth <= interval.high for interval in intervals)
    below = sum(interval.low > design.truth for interval in intervals)
    estimates = [s.estimate for s in done if isinstance(s.estimate, float)]
    deviation = float(np.std(estimates))
    width = float(np.mean([i.high - i.low for i in intervals]))
    return {
        "name": design.name,
        "truth": design.truth,
        "mean_estimate": float(np.mean(estimates)),
        "coverage": held / len(intervals),
        "interval_above_the_truth": below / len(intervals),
        "mean_width": width,
        "claimed_over_true_deviation": width / 2 / 1.96 / deviation,
        "undefined": studies - len(intervals),
    }


def injected_variance(studies: int, seed: int) -> dict[str, float]:
    """Variance of sensibleness: by formula from the injected values, between studies, and by the bootstrap.

    100 conversations of 10 turns with intraclass correlation 0.2: p(1 - p) (1 + 9 · 0.2) / 1000.
    """
    shares, claimed = [], []
    for rng in np.random.default_rng(seed).spawn(studies):
        ones = rng.binomial(10, rng.beta(CONCENTRATION * SENSIBLE, CONCENTRATION * (1 - SENSIBLE), 100))
        rows = np.column_stack([ones, np.zeros(100), np.full(100, 10)]).astype(np.float64)
        shares.append(ones.mean() / 10)
        claimed.append(SENSIBLENESS(resampled_sums(rows, RESAMPLES, rng)).var())
    return {
        "planted": SENSIBLE * (1 - SENSIBLE) * (1 + 9 * 0.2) / 1000,
        "between_studies": float(np.var(shares)),
        "bootstrap_mean": float(np.mean(claimed)),
    }


def false_alarms(studies: int, seed: int, k: int) -> float:
    """Share of permutation tests with p ≤ 0.05 between two bots that are alike, k conversations each.

    199 permutations give exactly 0.05 as a possible p-value, so an exact test has 5 %.
    """
    p_values = [
        compare(conversations(rng, k), conversations(rng, k), rng, resamples=199).p
        for rng in np.random.default_rng(seed).spawn(studies)
    ]
    return float(np.mean([isinstance(p, float) and p <= 0.05 for p in p_values]))


def watched_alarms(studies: int, seed: int) -> float:
    """Share of studies in which an ordinary interval, looked at after every conversation, misses once."""
    missed = 0
    for rng in np.random.default_rng(seed).spawn(studies):
        rows = conversations(rng, 200)
        looks = (percentile(SSA(resampled_sums(rows[:k], 400, rng))) for k in range(20, 201, 5))
        missed += any(isinstance(i, Interval) and TRUE_SSA not in i for i in looks)
    return missed / studies


def main() -> None:
    """Run all designs and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="simulate only the designs whose name has this in it")
    options = parser.parse_args()
    chosen = [design for design in designs() if options.only in design.name]
    results = {
        "studies": options.studies,
        "seed": options.seed,
        "resamples": RESAMPLES,
        "designs": [run(design, options.studies, options.seed) for design in chosen],
    }
    if not options.only:
        results |= checks(options.studies, options.seed)
    print(json.dumps(results, indent=2))


def checks(studies: int, seed: int) -> dict[str, object]:
    """Simulations besides those of the intervals."""
    return {
        "planted_variance": injected_variance(studies, seed),
        "permutation_false_alarms_at_5_percent": false_alarms(5 * studies, seed, 60),
        "the_same_with_bundles_of_four": false_alarms(5 * studies, seed, 600),
        "ordinary_interval_watched_37_times_misses": watched_alarms(studies, seed),
    }


if __name__ == "__main__":
    main()
