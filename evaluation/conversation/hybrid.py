"""The hybrid metric: prediction of people's ratings from automatic metrics of a bot's self-play.

For each bot in turn, a linear model from metrics of conversations with people to their ratings is fitted on
all other bots and applied to this bot's self-play (Ghandeharioun et al. 2019, arXiv:1906.09308, section 4.3).
Metrics are standardised by the conversations of the fit, which the paper leaves open. A bot trained to score
high here would exploit the metrics, not become better (section 5.4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from evaluation.statistics.inference import t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.linear_models.regression import Correlation, kendall, pearson, spearman
from evaluation.statistics.linear_models.sandwich import Errors, errors, orthonormal

LEVEL = 0.9
"""Coverage of the intervals, as in the paper."""
PERMUTATIONS = 2_000
FEWEST_BOTS = 3
_LARGEST_CONDITION = 1e8
_LEAST_FREEDOM = 1.0
"""Degrees of freedom below which there is no interval."""


class HybridError(ValueError):
    """Conversations without a hybrid metric; the message says which and why."""


@dataclass(frozen=True, eq=False)
class Talks:
    """Conversations of some bots with their metrics.

    Attributes:
        bot: (n,) number of each conversation's bot.
        values: (n, m) metrics of each conversation.
    """

    bot: IntArray
    values: FloatArray


@dataclass(frozen=True, slots=True)
class Coefficient:
    """Coefficient of one metric.

    Attributes:
        value: points of the rating for one standard deviation of the metric, all else equal.
        raw: points of the rating for one unit of the metric.
        interval: interval of `value`, over other conversations with the same bots (HC2).
        over_bots: interval of `value`, over other bots (CR2).
        folds: `value` in each fold.
    """

    value: float
    raw: float
    interval: Interval | Undefined
    over_bots: Interval | Undefined
    folds: Sequence[float]


@dataclass(frozen=True, slots=True)
class BotEstimate:
    """Predicted rating of a bot that the fit has not seen.

    Attributes:
        value: the predicted mean rating.
        interval: over other conversations of all bots, with people and in self-play.
        rated: people's mean rating.
        conversations: number of conversations with people, and in self-play.
    """

    value: float
    interval: Interval | Undefined
    rated: float
    conversations: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Hybrid:
    """The hybrid metric of some bots.

    Attributes:
        intercept: rating of a conversation that is average in all metrics.
        coefficients: in the order of the metrics.
        bots: in the order of their numbers.
        condition: condition number of the standardised metrics; above 30 coefficients are unstable.
        r_squared: share of the variance of single ratings that the fit explains in its data.
        p: one-sided p-value of the correlation of `value` and `rated`, by permuting ratings among all
            conversations and fitting everything again.
    """

    intercept: float
    coefficients: Sequence[Coefficient]
    bots: Sequence[BotEstimate]
    condition: float
    r_squared: float
    p: float | Undefined


def hybrid(
    rated: Talks,
    rating: FloatArray,
    self_play: Talks,
    rng: Generator,
    *,
    level: float = LEVEL,
    permutations: int = PERMUTATIONS,
) -> Hybrid:
    """Predict the rating of each bot by a fit that has not seen it.

    Args:
        rated: conversations with people, without missing values.
        rating: (n,) ratings of these conversations.
        self_play: conversations of the same bots with themselves, without missing values.
        rng: seeded generator.
        level: nominal coverage of every interval.
        permutations: number of permutations of the ratings.

    Raises:
        HybridError: too few bots or conversations, a bot without self-play, or equal ratings; says which.
    """
    _check(rated, rating, self_play)
    bots = int(rated.bot.max()) + 1
    whole = _Fit.of(rated.values, rating)
    folds = [_Fold.without(bot, rated, rating, self_play) for bot in range(bots)]
    estimates = np.array([fold.foretold for fold in folds])
    means = np.array([rating[rated.bot == bot].mean() for bot in range(bots)])
    return Hybrid(
        intercept=float(whole.beta[0]),
        coefficients=_coefficients(whole, folds, rated.bot, level),
        bots=[
            BotEstimate(
                float(estimates[bot]),
                folds[bot].interval(level),
                float(means[bot]),
                (int((rated.bot == bot).sum()), int((self_play.bot == bot).sum())),
            )
            for bot in range(bots)
        ],
        condition=whole.condition,
        r_squared=whole.r_squared,
        p=_permutation_p(folds, rated.bot, rating, estimates, means, rng, permutations),
    )


def correlations(
    estimates: FloatArray, ratings: FloatArray, level: float = LEVEL
) -> Mapping[str, Correlation | Undefined]:
    """Pearson's, Spearman's and Kendall's correlation of two measures, (n,) each, in [-1, 1].

    Args:
        estimates: (n,) estimates of n bots.
        ratings: (n,) ratings of the same bots, in the same order.
        level: nominal coverage of the intervals, in (0, 1).

    Returns:
        Correlations by name, each with its interval; `Undefined` for too few bots or a constant measure.
    """
    measures = {"pearson": pearson, "spearman": spearman, "kendall": kendall}
    return {name: measure(estimates, ratings, level) for name, measure in measures.items()}


def _check(rated: Talks, rating: FloatArray, self_play: Talks) -> None:
    bots = len(np.unique(rated.bot))
    if bots < FEWEST_BOTS:
        counted = "is 1 bot" if bots == 1 else f"are {bots} bots"
        raise HybridError(
            f"There {counted} with ratings; the line is fitted without each in turn, so it needs at least "
            f"{FEWEST_BOTS}, and a correlation means little below ten."
        )
    lacking = sorted(set(rated.bot.tolist()) - set(self_play.bot.tolist()))
    if lacking:
        raise HybridError(f"Bot {lacking[0]} has no self-play.")
    if np.ptp(rating) == 0:
        raise HybridError(
            f"All {len(rating)} conversations are rated {rating[0]:g}, so nothing tells them apart."
        )
    for bot in range(bots):
        left, needed = int((rated.bot != bot).sum()), rated.values.shape[1] + 2
        if left < needed:
            raise HybridError(
                f"Without one of the bots there are {left} conversations with ratings; "
                f"{rated.values.shape[1]} metrics need {needed} at least."
            )


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares on metrics that are standardised by the fitted conversations.

    Attributes:
        centre, scale: (m,) mean and standard deviation of each metric.
        design: (n, m + 1) ones and the standardised metrics.
        rating: (n,) the ratings.
    """

    centre: FloatArray
    scale: FloatArray
    design: FloatArray
    rating: FloatArray

    @classmethod
    def of(cls, values: FloatArray, rating: FloatArray) -> "_Fit":
        centre, scale = values.mean(axis=0), values.std(axis=0, ddof=1)
        scale = np.where(
            scale > 1e-12 * np.maximum(1, abs(centre)), scale, np.inf
        )  # a constant metric has no effect
        return cls(centre, scale, _design(values, centre, scale), rating)

    @cached_property
    def inverse(self) -> FloatArray:
        """(m + 1, n) matrix from ratings to coefficients."""
        return np.linalg.pinv(self.design, rcond=1 / _LARGEST_CONDITION).astype(np.float64)

    @cached_property
    def beta(self) -> FloatArray:
        """(m + 1,) the intercept and the coefficients."""
        coefficients: FloatArray = self.inverse @ self.rating
        return coefficients

    @property
    def condition(self) -> float:
        varies = np.isfinite(self.scale)
        return float(np.linalg.cond(self.design[:, 1:][:, varies])) if varies.any() else float("inf")

    @property
    def r_squared(self) -> float:
        left = self.rating - self.design @ self.beta
        return 1 - float((left**2).sum() / ((self.rating - self.rating.mean()) ** 2).sum())

    @cached_property
    def _basis(self) -> FloatArray:
        return orthonormal(self.design, 1 / _LARGEST_CONDITION)

    def errors(self, weights: FloatArray, clusters: IntArray) -> Errors:
        """Standard errors of k estimates, each a sum of the n ratings with weights (k, n).

        Args:
            weights: (k, n).
            clusters: (n,) cluster of each rating.
        """
        return errors(weights, self._basis, self.rating - self.design @ self.beta, clusters)


def _design(values: FloatArray, centre: FloatArray, scale: FloatArray) -> FloatArray:
    return np.column_stack([np.ones(len(values)), (values - centre) / scale])


@dataclass(frozen=True, eq=False)
class _Fold:
    """The fit without one bot, and that bot's self-play."""

    fit: _Fit
    kept: IntArray
    played: IntArray
    design: FloatArray

    @classmethod
    def without(cls, bot: int, rated: Talks, rating: FloatArray, self_play: Talks) -> "_Fold":
        rows, played = np.flatnonzero(rated.bot != bot), np.flatnonzero(self_play.bot == bot)
        fit = _Fit.of(rated.values[rows], rating[rows])
        return cls(fit, rows, played, _design(self_play.values[played], fit.centre, fit.scale))

    @cached_property
    def foretold(self) -> float:
        return float(self.design.mean(axis=0) @ self.fit.beta)

    def interval(self, level: float) -> Interval | Undefined:
        """Interval of the prediction, over other conversations with people and other self-play.

        The two variances have Welch's degrees of freedom.
        """
        if (played := len(self.design)) < 2:
            return Undefined("It has one conversation with itself, which cannot tell how others differ.")
        weights = (self.design.mean(axis=0) @ self.fit.inverse)[None]
        of_line = self.fit.errors(weights, np.arange(len(self.kept)))
        by_line = float(of_line.values[0]) ** 2
        by_play = float((self.design @ self.fit.beta).var(ddof=1)) / played
        noise = by_line**2 / max(float(of_line.freedom[0]), _LEAST_FREEDOM) + by_play**2 / (played - 1)
        if noise == 0:
            return Undefined("All that it rests on is alike, so nothing tells its uncertainty.")
        half = t((by_line + by_play) ** 2 / noise, level) * float(np.sqrt(by_line + by_play))
        return Interval(self.foretold - half, self.foretold + half, level, "t")


def _coefficients(whole: _Fit, folds: Sequence[_Fold], bot: IntArray, level: float) -> list[Coefficient]:
    in_folds = np.array([fold.fit.beta for fold in folds])
    # Convert to standard deviations over all conversations, so that folds can be compared.
    varies = np.isfinite(whole.scale)
    for row, fold in zip(in_folds, folds, strict=True):
        row[1:][varies] *= whole.scale[varies] / fold.fit.scale[varies]
    over_conversations = whole.errors(whole.inverse, np.arange(len(bot)))
    over_bots = whole.errors(whole.inverse, bot)
    return [
        Coefficient(
            value=float(whole.beta[column]),
            raw=float(whole.beta[column] / whole.scale[column - 1]),
            interval=_interval(whole, column, over_conversations, level),
            over_bots=_interval(whole, column, over_bots, level),
            folds=in_folds[:, column].tolist(),
        )
        for column in range(1, len(whole.beta))
    ]


def _interval(whole: _Fit, column: int, errors: Errors, level: float) -> Interval | Undefined:
    """Student's t interval of one coefficient, with Satterthwaite's degrees of freedom."""
    if not np.isfinite(whole.scale[column - 1]):
        return Undefined("This metric is the same in all conversations.")
    error, freedom = float(errors.values[column]), float(errors.freedom[column])
    if error == 0 or freedom < _LEAST_FREEDOM:
        return Undefined("There are too few for so many metrics to tell its uncertainty.")
    value, half = float(whole.beta[column]), t(freedom, level) * error
    return Interval(value - half, value + half, level, "t")


def _permutation_p(
    folds: Sequence[_Fold],
    bot: IntArray,
    rating: FloatArray,
    estimates: FloatArray,
    means: FloatArray,
    rng: Generator,
    permutations: int,
) -> float | Undefined:
    """Permutation p-value; needed because leaving out bots makes chance correlations negative on average."""
    if np.ptp(estimates) == 0 or np.ptp(means) == 0:
        return Undefined("All bots are alike in what is predicted or in what people gave.")
    dealt = rng.permuted(np.tile(rating, (permutations, 1)), axis=1)  # (p, n)
    weights = [fold.design.mean(axis=0) @ fold.fit.inverse for fold in folds]
    foretold = np.column_stack([dealt[:, f.kept] @ w for f, w in zip(folds, weights, strict=True)])
    member = (bot[:, None] == np.arange(len(folds))) / np.bincount(bot)
    by_chance = _rowwise_correlation(foretold, dealt @ member)
    observed = _rowwise_correlation(estimates[None], means[None])[0]
    return float((1 + (by_chance >= observed - 1e-12).sum()) / (1 + permutations))


def _rowwise_correlation(a: FloatArray, b: FloatArray) -> FloatArray:
    a, b = (x - x.mean(axis=1, keepdims=True) for x in (a, b))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = (a * b).sum(axis=1) / np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    defined: FloatArray = np.nan_to_num(correlations)
    return defined
