"""Part of a judging study's report in which a machine judge assists people, beside people alone. Pure.

The other parts of the report count labels of people only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from evaluation.assisted.estimates import AssistedEstimate
from evaluation.assisted.intervals import IntervalRule
from evaluation.machine_judges.judged import JudgedItems
from evaluation.machine_judges.together import PairsTogether, Together, pairs_together, together
from evaluation.questions import Score, bounds
from evaluation.report.item_draws import DrawFacts
from evaluation.report.studies.pair_strengths import exact
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.differences import difference
from evaluation.statistics.inference import Nouns, Sample, mean
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.pairwise import bradley_terry

EACH_JUDGED = "People judged every item, so the machine has nothing to add."
CANNOT_SAY = "Cannot say yet."

_Alone = tuple[float, Interval | Undefined] | None
"""Value and interval from people alone; None without labels."""


@dataclass(frozen=True, eq=False)
class JudgeLabels:
    """Labels of one judge and of people about the items of one ask.

    Attributes:
        ask: number of the ask.
        title: title of its question set.
        judge: name of the judge.
        fingerprint: fingerprint of its template.
        items: the items with the labels of both; of people, those that count in the primary analysis.
        noun: noun for what items share: "context" or "conversation".
        outcomes: number of the judge's labels by outcome.
        seen: number of items about which the judge was shown people's answers; `items` lacks its labels of
            these.
        drawn: how items were drawn for people; None: they were not.
    """

    ask: int
    title: str
    judge: str
    fingerprint: str
    items: JudgedItems
    noun: str
    outcomes: Mapping[str, int] = field(default_factory=dict)
    seen: int = 0
    drawn: DrawFacts | None = None


def assisted_figures(
    judges: Sequence[JudgeLabels], *, level: float = LEVEL, rule: IntervalRule = IntervalRule.SCORE
) -> list[dict[str, Any]]:
    """Compute the figures of people alone and assisted by each judge, ready to be stored as JSON.

    Args:
        judges: labels of each judge of each ask.
        level: nominal coverage of the intervals.
        rule: how the intervals of both are computed.

    Returns:
        For each judge `ask`, `title`, `judge`, `fingerprint`, `outcomes`, `items`, `people_items`,
        `judge_items`, `seen` (if there are any), `level`, `intervals` (the rule; absent with that of version
        1.0.0) and `scores`; for each score `key`, `title`,
        `is_percent` and `rows`, one for each system and each difference of two systems. A row has `first`,
        `second` (None for a system
        alone), `people` and `assisted` (`value`, and `low` and `high` or `undefined`; None if there is no
        estimate), `items`, `as_if` (number of items that people alone would have needed), `worth`,
        `words` about the judge, and `rests_on`, what the interval generalises to. If items were drawn for
        people, `drawn` has the `DrawFacts`, each item counts 1 / its probability in all estimates, and rows
        of a system have `evenly`, the number of evenly drawn items with the same variance. For pairs,
        `preferences` has for each question that compares the sides `key`, `question` and such rows:
        `strengths`, log-strengths after Bradley and Terry, and `wins`, shares of won pairs in percent.
    """
    return [_of_judge(each, level, rule) for each in judges]


def _of_judge(given: JudgeLabels, level: float, rule: IntervalRule) -> dict[str, Any]:
    judged = given.items
    nouns = Nouns(cluster=given.noun, rater="rater")
    return {
        "ask": given.ask,
        "title": given.title,
        "judge": given.judge,
        "fingerprint": given.fingerprint,
        "outcomes": dict(given.outcomes),
        "items": len(judged),
        "people_items": len(np.unique(judged.people.item)),
        "judge_items": len(np.unique(judged.judge.item)),
        # Absent without any, as in the results of earlier versions.
        **({"seen": given.seen} if given.seen else {}),
        **({"drawn": asdict(given.drawn)} if given.drawn else {}),
        "level": level,
        **({} if rule is IntervalRule.WALD else {"intervals": rule.value}),
        "scores": [
            _of_score(judged, each, nouns, level)
            for each in together(judged, nouns=nouns, level=level, rule=rule)
        ],
        **_of_pairs(judged, nouns, level, rule),
    }


def _of_pairs(judged: JudgedItems, nouns: Nouns, level: float, rule: IntervalRule) -> dict[str, Any]:
    """Strengths and shares of wins by question; nothing for items that are no pairs."""
    if judged.sides is None:
        return {}
    return {
        "preferences": [
            {
                "key": each.question.key,
                "question": each.question.wording,
                "strengths": _strengths(each, nouns, level),
                "wins": _wins(each, nouns, level),
            }
            for each in pairs_together(judged, nouns=nouns, level=level, rule=rule)
        ]
    }


def _strengths(found: PairsTogether, nouns: Nouns, level: float) -> list[dict[str, Any]]:
    """A row for each system and each difference of two; without an estimate, people's of each system."""
    if isinstance(found.strengths, Undefined):
        alone = bradley_terry(found.pairs.duels, level=level) if len(found.pairs.duels) else found.strengths

        def people(bot: str) -> _Alone:
            return None if isinstance(alone, Undefined) else (alone.strength[bot], alone.intervals[bot])

        return [
            {"first": bot, "second": None, **_figures(1.0, found.strengths, partial(people, bot), nouns)}
            for bot in found.pairs.bots.tolist()
        ]
    of_systems: list[tuple[str, str | None, AssistedEstimate]] = [
        (bot, None, each) for bot, each in found.strengths.strength.items()
    ]
    return [
        _rounded({"first": first, "second": second, **_figures(1.0, each, _no_one, nouns)})
        for first, second, each in (*of_systems, *found.strengths.differences)
    ]


def _wins(found: PairsTogether, nouns: Nouns, level: float) -> list[dict[str, Any]]:
    def people(bot: int) -> _Alone:
        estimate = mean(found.pairs.of(bot).people, level=level, nouns=nouns)
        return None if isinstance(estimate, Undefined) else (estimate.value, estimate.interval)

    return [
        {"first": name, "second": None, **_figures(100.0, each, partial(people, bot), nouns)}
        for bot, (name, each) in enumerate(found.wins.items())
    ]


def _no_one() -> _Alone:
    return None


def rule_of(stored: Mapping[str, Any]) -> IntervalRule:
    """Rule by which the assisted figures of a stored report were computed.

    Args:
        stored: the report; version 1.0.0 stored no rule.
    """
    is_of_first_version = any("intervals" not in each for each in stored.get("assisted") or ())
    return IntervalRule.WALD if is_of_first_version else IntervalRule.SCORE


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Round numbers to ten digits; further digits of a solution differ between processors."""
    return {
        key: _rounded(value)
        if isinstance(value, dict)
        else exact(value)
        if isinstance(value, float)
        else value
        for key, value in row.items()
    }


def _of_score(judged: JudgedItems, found: Together, nouns: Nouns, level: float) -> dict[str, Any]:
    score = found.score
    samples = _people_alone(judged, score)
    low, high = bounds(judged.questions, score)

    def alone(name: str) -> _Alone:
        estimate = mean(samples[name], low=low, high=high, level=level, nouns=nouns)
        return None if isinstance(estimate, Undefined) else (estimate.value, estimate.interval)

    def compared(first: str, second: str) -> _Alone:
        if not (len(samples[first]) and len(samples[second])):
            return None
        of_two = difference(samples[first], samples[second], low=low, high=high, level=level)
        return of_two.difference, of_two.interval

    rows = [
        {"first": name, "second": None, **_figures(score.factor, each, partial(alone, name), nouns)}
        | ({"evenly": round(found.evenly[name])} if name in found.evenly else {})
        for name, each in found.systems.items()
    ]
    of_pairs = {(first, second): each for first, second, each in found.differences}
    for pair in combinations(found.systems, 2):
        of_pair = of_pairs[pair] if pair in of_pairs else _reason(found, *pair)
        figures = _figures(score.factor, of_pair, partial(compared, *pair), nouns)
        rows.append({"first": pair[0], "second": pair[1], **figures})
    return {"key": score.key, "title": score.title, "is_percent": score.is_percent, "rows": rows}


def _reason(found: Together, first: str, second: str) -> Undefined:
    """Why a difference has no estimate: the reason of the system that has none."""
    of_systems = (found.systems[first], found.systems[second])
    return next(each for each in of_systems if isinstance(each, Undefined))


def _people_alone(judged: JudgedItems, score: Score) -> dict[str, Sample]:
    """People's labels of each system; each item counts as in the assisted estimate."""
    labels = judged.scores_of(score, judged.people)
    is_defined = ~np.isnan(labels)
    raters = np.bincount(judged.people.item[is_defined], minlength=len(judged))
    samples = {}
    for name in judged.systems:
        rows = is_defined & (judged.system[judged.people.item] == name)
        item = judged.people.item[rows]
        chance = 1.0 if judged.probability is None else judged.probability[item]
        weight = 1.0 / (raters[item] * chance)
        samples[name] = Sample(labels[rows], judged.cluster[item], judged.people.rater[rows], weight)
    return samples


def _figures(
    factor: float, found: AssistedEstimate | Undefined, people: Callable[[], _Alone], nouns: Nouns
) -> dict[str, Any]:
    if isinstance(found, Undefined):
        alone = people()  # only now, because an estimate has them
        return {
            "people": alone and _cell(factor, *alone),
            "assisted": None,
            "items": None,
            "as_if": None,
            "worth": None,
            "words": f"{CANNOT_SAY} {found.reason}",
            "rests_on": "",
        }
    return {
        "people": _cell(factor, found.people_value, found.people_interval),
        "assisted": _cell(factor, found.value, found.interval),
        "items": found.items,
        "as_if": found.effective_items,
        "worth": found.worth,
        "words": " ".join(filter(None, [found.worth_sentence, found.doubt])) if found.pool else EACH_JUDGED,
        "rests_on": found.rests_on(nouns),
    }


def _cell(factor: float, value: float, interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(interval, Undefined):
        return {"value": factor * value, "undefined": interval.reason}
    return {"value": factor * value, "low": factor * interval.low, "high": factor * interval.high}
