"""Scores from people's labels and a machine judge's together, beside those of people alone."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evaluation.assisted.estimates import AssistedEstimate, assisted_difference, assisted_mean
from evaluation.assisted.samples import AssistedSample
from evaluation.machine_judges.judged import JudgedItems, means
from evaluation.questions import Score, bounds
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import NOUNS, Nouns
from evaluation.statistics.interval import Undefined


@dataclass(frozen=True, slots=True)
class Together:
    """Estimates of one score.

    Attributes:
        score: the score.
        systems: by system, the estimate with people alone beside it; `Undefined` with fewer than 20 items of
            people, and for a judge that gives every item the same.
        differences: first system, second system, and the estimate of their difference.
    """

    score: Score
    systems: dict[str, AssistedEstimate | Undefined]
    differences: tuple[tuple[str, str, AssistedEstimate | Undefined], ...]


def together(judged: JudgedItems, *, nouns: Nouns = NOUNS, level: float = LEVEL) -> list[Together]:
    """Estimate each score of each system, and every difference, from people's labels and the judge's.

    The items that people judged must be a random draw from all items, as in a queue in random order.
    """
    return [_of_score(judged, score, nouns, level) for score in judged.questions.scores]


def _of_score(judged: JudgedItems, score: Score, nouns: Nouns, level: float) -> Together:
    low, high = bounds(judged.questions, score)
    samples = {name: _sample(judged, score, name) for name in judged.systems}
    usable = {name: each for name, each in samples.items() if isinstance(each, AssistedSample)}
    systems: dict[str, AssistedEstimate | Undefined] = {
        name: each
        if isinstance(each, Undefined)
        else assisted_mean(each, low=low, high=high, level=level, nouns=nouns)
        for name, each in samples.items()
    }
    differences = tuple(
        (a, b, assisted_difference(usable[a], usable[b], low=low, high=high, level=level, nouns=nouns))
        for a, b in combinations(usable, 2)
    )
    return Together(score, systems, differences)


def _sample(judged: JudgedItems, score: Score, system: str) -> AssistedSample | Undefined:
    """Labels of one system; `Undefined` if the judge's tell nothing about its items."""
    people = judged.people
    of_judge = means(judged.scores_of(score, judged.judge), judged.judge.item, len(judged))
    is_of_system = judged.system == system
    given = of_judge[is_of_system & ~np.isnan(of_judge)]
    if not given.size:
        return Undefined("The judge has given no answer.")
    if np.ptp(given) == 0:
        return Undefined("The judge gives every item the same, so it tells nothing about them.")
    labels = judged.scores_of(score, people)
    rows = is_of_system[people.item] & ~np.isnan(labels)
    new_number = np.cumsum(is_of_system) - 1
    return AssistedSample(
        judged.cluster[is_of_system], of_judge[is_of_system], new_number[people.item[rows]], labels[rows],
        people.rater[rows],
    )  # fmt: skip
