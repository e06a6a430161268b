"""Ranks that the systems of a report can have, from its stored differences. Pure.

Only differences are needed: ranks do not change if all scores change together. So the covariance is that of
the scores less their mean, by double centring of the variances of differences (Torgerson 1952, Psychometrika
17(4)). Each variance is that of a normal distribution whose interval is as wide as the stored one of
Student's t, so that few conversations are allowed for.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.statistics.inference import z
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.ranks import MOST_SYSTEMS, rank_intervals


def ranks_of(
    bots: Sequence[Mapping[str, Any]],
    comparisons: Sequence[Mapping[str, Any]],
    *,
    column: int,
    score: str,
    level: float,
) -> dict[str, dict[str, int]]:
    """Rank intervals of the systems by one score, of which all hold at once with the level's probability.

    Args:
        bots: result of `figures.bot_scores`.
        comparisons: result of `figures.comparisons`.
        column: column of the score in the cells of `bots`.
        score: key of the score.
        level: level of the intervals of `comparisons`, in (0, 1).

    Returns:
        By system `best` and `worst`; 1 is the best rank. Empty for fewer than two systems or more than 60,
        and if a difference between two of them has no interval.
    """
    values = {
        bot["bot"]: bot["cells"][column]["value"] for bot in bots if bot["cells"][column]["value"] is not None
    }
    return ranks_by(values, halves_of(comparisons, score), level=level)


def halves_of(comparisons: Sequence[Mapping[str, Any]], score: str) -> list[tuple[str, str, float]]:
    """Two systems and half the length of the interval of their difference, for each that has one.

    Args:
        comparisons: as stored by the report, of all scores.
        score: key of the score.
    """
    # An end at the limit of the scale is nearer than the other.
    return [
        (
            each["first"],
            each["second"],
            max(each["high"] - each["difference"], each["difference"] - each["low"]),
        )
        for each in comparisons
        if each["score"] == score and "low" in each
    ]


def ranks_by(
    values: Mapping[str, float], halves: Iterable[tuple[str, str, float]], *, level: float
) -> dict[str, dict[str, int]]:
    """Rank intervals of systems from their values and the intervals of all differences.

    Args:
        values: by system; higher is better.
        halves: two systems and half the length of the interval of their difference.
        level: level of these intervals, in (0, 1).

    Returns:
        As `ranks_of`.
    """
    names = list(values)
    if not 2 <= len(names) <= MOST_SYSTEMS:
        return {}
    variances = _variances_of_differences(names, halves, level)
    if variances is None:
        return {}
    ranks = rank_intervals(list(values.values()), _centred_covariance(variances), level=level)
    return {name: {"best": rank.best, "worst": rank.worst} for name, rank in zip(names, ranks, strict=True)}


@dataclass(frozen=True, slots=True)
class LinkedStudy:
    """Scores of a study on the scale of an anchor pack.

    Attributes:
        values: by system, its linked score.
        errors: by system, the standard error of its linked score: that of the normal distribution whose
            interval is as wide as the one of Student's t.
        linking_error: likewise of the shift that all of them share; 0 for the study of the anchors. It counts
            for two systems whose difference has no interval.
        halves: two systems and half the length of the interval of their difference.
    """

    values: Mapping[str, float]
    errors: Mapping[str, float]
    linking_error: float
    halves: Sequence[tuple[str, str, float]] = ()


def ranks_of_linked(studies: Sequence[LinkedStudy], *, level: float) -> list[dict[str, dict[str, int]]]:
    """Rank intervals of the systems of several studies on one scale, of which all hold at once.

    Systems of a study share its link, so their differences lack the linking error. Errors of the known
    values, which the studies have in common, count in each of them: differences between studies are a little
    more certain than these ranks say.

    Args:
        studies: with two systems or more in all; of those that two studies have, each counts.
        level: level of the ranks, and of the intervals of the differences, in (0, 1).

    Returns:
        For each study, by system, as `ranks_of`; empty for more than 60 systems.
    """
    systems = [(number, name) for number, study in enumerate(studies) for name in study.values]
    if not 2 <= len(systems) <= MOST_SYSTEMS:
        return [{} for _ in studies]
    position = {system: index for index, system in enumerate(systems)}
    normal = z(level)
    covariance = np.zeros((len(systems), len(systems)))
    for number, study in enumerate(studies):
        rows = [position[number, name] for name in study.values]
        own = np.array([study.errors[name] ** 2 for name in study.values])
        covariance[np.ix_(rows, rows)] = np.minimum(study.linking_error**2, np.minimum.outer(own, own))
        covariance[rows, rows] = own
        for first, second, half in study.halves:
            if first in study.values and second in study.values:
                a, b = position[number, first], position[number, second]
                both = study.errors[first] ** 2 + study.errors[second] ** 2
                of_difference = (half / normal) ** 2
                covariance[a, b] = covariance[b, a] = (both - of_difference) / 2
    values = [studies[number].values[name] for number, name in systems]
    ranks = dict(zip(systems, rank_intervals(values, covariance, level=level), strict=True))
    return [
        {
            name: {"best": ranks[number, name].best, "worst": ranks[number, name].worst}
            for name in study.values
        }
        for number, study in enumerate(studies)
    ]


def _variances_of_differences(
    names: Sequence[str], halves: Iterable[tuple[str, str, float]], level: float
) -> FloatArray | None:
    """(p, p) variances of all differences; None if one is unknown."""
    position = {name: index for index, name in enumerate(names)}
    normal = z(level)
    variances = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(variances, 0.0)
    for first, second, half in halves:
        a, b = position[first], position[second]
        variances[a, b] = variances[b, a] = (half / normal) ** 2
    return None if np.isnan(variances).any() else variances


def _centred_covariance(variances: FloatArray) -> FloatArray:
    """(p, p) covariance of the scores less their mean; gives the variances of all differences exactly."""
    of_rows = variances.mean(axis=1)
    centred: FloatArray = -0.5 * (variances - of_rows[:, None] - of_rows[None, :] + variances.mean())
    return centred
