"""Agreement of a machine judge with people, by question and group, and its errors by system."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evaluation.machine_judges.judged import JudgedItems, answer_of_items, is_number, means
from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import Score, bounds
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.rater_agreement.reliability import Alpha, alpha
from evaluation.statistics.differences import Difference, differences
from evaluation.statistics.inference import NOUNS, Estimate, Nouns, Sample, mean
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray

EVERY_SYSTEM = ""
"""Name of all systems together."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement about one question.

    Attributes:
        question: key of the question.
        system: name of the system, or `EVERY_SYSTEM`.
        items: number of items on which both have an answer.
        percent: percentage of these items with the same answer; of numbers, with the same mean once it is
            rounded to a whole number, half up.
        alpha: Krippendorff's alpha of the two answers of each item, with its interval over conversations or
            contexts: nominal, and of numbers with the interval distance.
    """

    question: str
    system: str
    items: int
    percent: float | Undefined
    alpha: Alpha | Undefined


def agreements(judged: JudgedItems) -> list[Agreement]:
    """Compare the judge's answer of each item with that of people.

    An item's answer is the mean of numbers, else the answer of more than half of the draws or raters; items
    without such a majority are left out.

    Returns:
        For each question with choices the agreement over all systems, then, if there are several, of each.
    """
    every = {EVERY_SYSTEM: np.ones(len(judged), dtype=np.bool_)}
    of_systems = {name: judged.system == name for name in judged.systems}
    return agreements_by(judged, every | (of_systems if len(of_systems) > 1 else {}))


def agreements_by(judged: JudgedItems, groups: Mapping[str, BoolArray]) -> list[Agreement]:
    """Compare the judge with people in each group of items, as `agreements` does in each system.

    Args:
        judged: the items.
        groups: by name, (N,) true for the items of the group; the name takes the place of a system's.
    """
    found = []
    for question in judgeable_questions(judged.questions):
        answers = [answer_of_items(question, given, len(judged)) for given in (judged.people, judged.judge)]
        both: BoolArray = ~np.isnan(answers[0]) & ~np.isnan(answers[1])
        metric = Metric.INTERVAL if is_number(question) else Metric.NOMINAL
        for name, is_in_group in groups.items():
            rows = both & is_in_group
            pair = answers[0][rows], answers[1][rows]
            found.append(_agreement(question.key, name, pair, judged.cluster[rows], metric))
    return found


def thirds(length: IntArray) -> dict[str, BoolArray]:
    """Divide items into the shortest, middle and longest third; items of equal length stay together.

    Args:
        length: (N,) characters of each item.

    Returns:
        By the range of characters, as in "1 to 80", (N,) true for the items of the third; fewer than three if
        too many are of equal length.
    """
    if not length.size:
        return {}
    edges = np.unique(np.quantile(length, [1 / 3, 2 / 3], method="inverted_cdf"))
    third = np.searchsorted(edges, length)
    found = {}
    for number in np.unique(third):
        of_third = third == number
        found[f"{length[of_third].min():,} to {length[of_third].max():,}"] = of_third
    return found


def _agreement(
    question: str, system: str, answers: tuple[FloatArray, FloatArray], cluster: IntArray, metric: Metric
) -> Agreement:
    people, judge = answers
    items = len(people)
    if not items:
        none = Undefined("No item has an answer of both.")
        return Agreement(question, system, 0, none, none)
    ratings = Ratings.from_columns(
        np.tile(np.arange(items), 2), np.repeat([0, 1], items), np.concatenate([people, judge])
    )
    same = np.floor(people + 0.5) == np.floor(judge + 0.5)
    return Agreement(
        question, system, items, 100 * float(same.mean()), alpha(ratings, metric, clusters=cluster)
    )


@dataclass(frozen=True, slots=True)
class ErrorOnSystem:
    """A judge's error on one system.

    Attributes:
        system: its name.
        items: number of items with labels of both.
        judge: the judge's mean on these items, in [0, 1] for shares.
        people: people's mean, each item counted once.
        error: mean of judge minus people, with an interval over conversations or contexts and raters.
    """

    system: str
    items: int
    judge: float
    people: float
    error: Estimate | Undefined


@dataclass(frozen=True, slots=True)
class ScoreErrors:
    """Errors of one score.

    Attributes:
        score: the score.
        systems: the error on each system with labels of both.
        favours: differences between the errors on two systems, with Holm's correction. If the first is ahead,
            the judge favours it over the second.
    """

    score: Score
    systems: tuple[ErrorOnSystem, ...]
    favours: tuple[Difference, ...]


def score_errors(judged: JudgedItems, *, nouns: Nouns = NOUNS) -> list[ScoreErrors]:
    """Compare the judge with people on items that both labelled, by score and system.

    Each label of a person gives one error: the mean of the judge's draws on this item, minus the label. Items
    count alike, however many raters they have.
    """
    return [_of_score(judged, score, nouns) for score in judged.questions.scores]


def _of_score(judged: JudgedItems, score: Score, nouns: Nouns) -> ScoreErrors:
    low, high = bounds(judged.questions, score)
    width = high - low
    samples = dict(_samples(judged, score))
    systems = []
    for name, (errors, judge, people, items) in samples.items():
        estimate = mean(errors, low=-width, high=width, nouns=nouns)
        systems.append(ErrorOnSystem(name, items, judge, people, estimate))
    compared = differences(
        {name: errors for name, (errors, *_means) in samples.items()}, low=-width, high=width, nouns=nouns
    )
    return ScoreErrors(score, tuple(systems), tuple(compared))


def _samples(judged: JudgedItems, score: Score) -> Iterator[tuple[str, tuple[Sample, float, float, int]]]:
    """Errors of each system, with the means of the judge and of people over the items of both, and these."""
    people, size = judged.people, len(judged)
    labels = judged.scores_of(score, people)
    of_judge = means(judged.scores_of(score, judged.judge), judged.judge.item, size)
    errors = of_judge[people.item] - labels
    has_both = ~np.isnan(errors)
    raters = np.bincount(people.item[has_both], minlength=size)
    for name in judged.systems:
        rows = has_both & (judged.system[people.item] == name)
        if not rows.any():
            continue
        item = people.item[rows]
        chance = 1.0 if judged.probability is None else judged.probability[item]
        weight = 1.0 / (raters[item] * chance)
        sample = Sample(errors[rows], judged.cluster[item], people.rater[rows], weight)
        yield (
            name,
            (
                sample,
                float(np.average(of_judge[item], weights=weight)),
                float(np.average(labels[rows], weights=weight)),
                len(np.unique(item)),
            ),
        )
