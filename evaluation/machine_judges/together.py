"""Scores from people's labels and a machine judge's together, beside those of people alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evaluation.assisted.estimates import AssistedEstimate, assisted_difference, assisted_mean
from evaluation.assisted.intervals import IntervalRule
from evaluation.assisted.pairs import AssistedPairs, assisted_win_shares
from evaluation.assisted.samples import AssistedSample
from evaluation.assisted.strengths import AssistedStrengths, assisted_strengths
from evaluation.machine_judges.judged import JudgedItems, means
from evaluation.machine_judges.orders import outcome_shares
from evaluation.questions import Question, Score, bounds, side_outcomes
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import NOUNS, Nouns
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import coded


@dataclass(frozen=True, slots=True)
class Together:
    """Estimates of one score.

    Attributes:
        score: the score.
        systems: by system, the estimate with people alone beside it; `Undefined` with fewer than 20 items of
            people, and for a judge that gives every item the same.
        differences: first system, second system, and the estimate of their difference.
        evenly: by system whose items were drawn with known probabilities, the number of evenly drawn items
            that would have given the same variance over items.
    """

    score: Score
    systems: dict[str, AssistedEstimate | Undefined]
    differences: tuple[tuple[str, str, AssistedEstimate | Undefined], ...]
    evenly: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PairsTogether:
    """Estimates of one question that compares the sides of pairs.

    Attributes:
        question: the question.
        pairs: its judgments.
        strengths: of all systems, with people alone beside each; `Undefined` as in `assisted_strengths`.
        wins: by system, share of its pairs in which it is better, ties by half.
    """

    question: Question
    pairs: AssistedPairs
    strengths: AssistedStrengths | Undefined
    wins: Mapping[str, AssistedEstimate | Undefined]


def pairs_together(
    judged: JudgedItems, *, nouns: Nouns = NOUNS, level: float = LEVEL,
    rule: IntervalRule = IntervalRule.SCORE,
) -> list[PairsTogether]:  # fmt: skip
    """Estimate strengths and shares of wins, question by question; empty for items that are no pairs.

    The pairs that people judged must be a random draw from all pairs, as for `together`.
    """
    found = []
    for question in judged.questions.questions:
        if judged.sides is None or judged.in_orders is None or not question.is_sided:
            continue
        pairs = _pairs(judged, question)
        wins = assisted_win_shares(pairs, level=level, nouns=nouns, rule=rule)
        strengths = assisted_strengths(pairs, level=level, rule=rule)
        found.append(PairsTogether(question, pairs, strengths, wins))
    return found


def _pairs(judged: JudgedItems, question: Question) -> AssistedPairs:
    assert judged.sides is not None
    assert judged.in_orders is not None
    bots, code = coded(np.concatenate(judged.sides))
    size = len(judged)
    codes = judged.people.answers[question.key]
    rows = ~np.isnan(codes)
    return AssistedPairs(
        bots, code[:size], code[size:], judged.cluster,
        outcome_shares(question, judged.in_orders, size),
        judged.people.item[rows], side_outcomes(question, codes[rows]), judged.people.rater[rows],
        judged.probability,
    )  # fmt: skip


def together(
    judged: JudgedItems, *, nouns: Nouns = NOUNS, level: float = LEVEL,
    rule: IntervalRule = IntervalRule.SCORE,
) -> list[Together]:  # fmt: skip
    """Estimate each score of each system, and every difference, from people's labels and the judge's.

    The items that people judged must be a random draw from all items, as in a queue in random order, or drawn
    with the stated probabilities.
    """
    return [_of_score(judged, score, nouns, level, rule) for score in judged.questions.scores]


def _of_score(judged: JudgedItems, score: Score, nouns: Nouns, level: float, rule: IntervalRule) -> Together:
    low, high = bounds(judged.questions, score)
    samples = {name: _sample(judged, score, name) for name in judged.systems}
    usable = {name: each for name, each in samples.items() if isinstance(each, AssistedSample)}
    systems: dict[str, AssistedEstimate | Undefined] = {
        name: each
        if isinstance(each, Undefined)
        else assisted_mean(each, low=low, high=high, level=level, nouns=nouns, rule=rule)
        for name, each in samples.items()
    }
    differences = tuple(
        (
            a,
            b,
            assisted_difference(
                usable[a], usable[b], low=low, high=high, level=level, nouns=nouns, rule=rule
            ),
        )
        for a, b in combinations(usable, 2)
    )
    evenly = {
        name: found.items / usable[name].design_effect(found.power[0])
        for name, found in systems.items()
        if isinstance(found, AssistedEstimate) and usable[name].probability is not None
    }
    return Together(score, systems, differences, evenly)


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
        probability=None if judged.probability is None else judged.probability[is_of_system],
    )  # fmt: skip
