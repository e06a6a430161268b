"""A machine judge's errors by system: whether it scores higher or lower than people, and favours a system."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evaluation.machine_judges.judged import JudgedItems, means
from evaluation.questions import Score, bounds
from evaluation.statistics.differences import Difference, differences
from evaluation.statistics.inference import NOUNS, Estimate, Nouns, Sample, mean
from evaluation.statistics.interval import Undefined


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
