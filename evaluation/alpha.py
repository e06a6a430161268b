"""Krippendorff's alpha with an interval over what its ratings cross: units or conversations, and raters."""

import math
from dataclasses import dataclass

import numpy as np

from evaluation.agreement import krippendorff_alpha
from evaluation.bootstrap import LEVEL
from evaluation.disagreement import largest_distance, pairs_of
from evaluation.inference import NOUNS, Nouns, generalises, share_unseen, t
from evaluation.interval import Interval, Undefined
from evaluation.labels import AnyArray, FloatArray, coded
from evaluation.metric import Metric
from evaluation.ratings import Ratings
from evaluation.variance import Numbers, Over, spread, summed

FEWEST_RATERS = 3
"""Two raters disagree with each other alike, so nothing tells how raters differ."""


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha.

    Attributes:
        value: at most 1; 0 is what chance gives.
        interval: `method` is "fisher t", or "exact" where no two ratings of a unit differ.
        over: what the interval generalises to; None if there is none.
        numbers: of clusters and raters that count, and pairs of both.
        units: units with two ratings or more.
    """

    value: float
    interval: Interval | Undefined
    over: Over | None
    numbers: Numbers
    units: int

    def in_words(self, nouns: Nouns = NOUNS) -> str:
        """What the interval generalises to, and what it cannot know, in sentences.

        Args:
            nouns: what clusters and raters are called.
        """
        if isinstance(self.interval, Undefined):
            return f"No interval: {self.interval.reason}"
        return generalises(self.over, self.numbers, self.interval.level, nouns)


def alpha(
    ratings: Ratings, metric: Metric | FloatArray = Metric.NOMINAL, *, clusters: AnyArray | None = None,
    level: float = LEVEL,
) -> Alpha | Undefined:  # fmt: skip
    """Krippendorff's alpha with Student's t interval on Fisher's z of alpha.

    The variance is that of alpha's influence values over clusters of units and over raters, whichever the
    ratings cross (`variance`). With two raters the interval is over clusters with the same raters.

    Args:
        ratings: any number of raters, with missing ratings; a unit with one rating does not count.
        metric: as in `agreement.krippendorff_alpha`.
        clusters: (units,) what the unit of each code belongs to, such as the conversation of a turn; None
            where units have nothing to do with each other.
        level: nominal coverage, in (0, 1).

    Returns:
        Alpha; `Undefined` where alpha is.

    Raises:
        ValueError: as `krippendorff_alpha`, or a level out of range.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} is not a coverage between 0 and 1, such as 0.95.")
    value = krippendorff_alpha(ratings, metric)
    if isinstance(value, Undefined):
        return value
    pairs = pairs_of(ratings, metric)
    unit = ratings.unit[pairs.kept]
    cluster = unit if clusters is None else coded(clusters)[1][unit]
    rater = ratings.rater[pairs.kept]
    several = len(np.unique(rater)) >= FEWEST_RATERS
    sums = summed(pairs.influence(), cluster, rater if several else None)
    found, numbers, units = spread(sums), sums.numbers, len(pairs.size)
    if found is None:
        alone = Undefined(
            "All units belong together; an interval needs 2 that are independent of each other."
        )
        return Alpha(value, alone, None, numbers, units)
    if value == 1:
        low = (
            1 - share_unseen(numbers.independent, level) * largest_distance(ratings, metric) / pairs.expected
        )
        return Alpha(value, Interval(max(low, -1.0), 1.0, level, "exact"), found.over, numbers, units)
    if found.variance <= 1e-12:
        alike = Undefined("All clusters or all raters disagree alike, so they do not tell how others would.")
        return Alpha(value, alike, found.over, numbers, units)
    half = t(found.freedom, level) * math.sqrt(found.variance) / (1 - value**2)
    low, high = (math.tanh(math.atanh(value) + step) for step in (-half, half))
    return Alpha(value, Interval(low, high, level, "fisher t"), found.over, numbers, units)
