"""Figures of a study with batteries: differences within raters, and repeated judgments. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.questions import Question, QuestionSet, Score, score_values
from evaluation.rater_agreement.ratings import Ratings
from evaluation.rater_agreement.reliability import intraclass
from evaluation.report.exclusion import BatteryJudgments, Rules, propose_exclusions, rated, repeat_rows
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.statistics.comparison import Paired, holm, paired
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Battery:
    """Composition of the batteries of a study; all numbers are per ask.

    Attributes:
        targets: systems of which each worker judges one item.
        fillers_of: systems of the fillers.
        fillers: number of fillers for each worker.
        repeats: number of repeated items for each worker.
        reasons: number of items for which a reason is asked.
        workers: planned number of batteries.
        compared_with: the target that the other targets are compared with.
        rules: rules that propose exclusions.
    """

    targets: Sequence[str]
    fillers_of: Sequence[str]
    fillers: int
    repeats: int
    reasons: int
    workers: int
    compared_with: str
    rules: Rules = field(default_factory=Rules)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Battery":
        """Read a battery from a bundle's study.json."""
        return cls(
            targets=stored["targets"],
            fillers_of=stored["fillers_of"],
            fillers=stored["fillers"],
            repeats=stored["repeats"],
            reasons=len(stored["reasons_at"]),
            workers=stored["workers"],
            compared_with=stored["compared_with"],
            rules=Rules.from_json(stored),
        )

    @property
    def size(self) -> int:
        """Number of items that a worker judges by each ask."""
        return len(self.targets) + self.fillers + self.repeats

    def judgments(self, judged: Judged, occasion: IntArray) -> BatteryJudgments:
        """Add to judgments their role in the battery.

        Args:
            judged: n judgments.
            occasion: (n,) 1 for a first judgment, 2 for a repeated one.
        """
        return BatteryJudgments(judged, occasion, np.isin(judged.bot, list(self.fillers_of)))


def battery_figures(
    questions: QuestionSet, battery: Battery, judged: Judged, occasion: IntArray, terms: Terms
) -> dict[str, Any]:
    """Compute the figures that only batteries have.

    Args:
        questions: the question set.
        battery: composition of the batteries.
        judged: the judgments that count, including repeats.
        occasion: (n,) 2 for a repeated judgment.
        terms: level of the intervals.

    Returns:
        `complete`, the number of workers who judged all items of this ask; `compared_with`; `paired`, by
        score, each target compared with `compared_with`; `repeats`, by rating, the agreement of workers with
        themselves.
    """
    first = judged.where(occasion == 1)
    return {
        "complete": sum(number >= battery.size for number in judged.labels_of_raters.values()),
        "compared_with": battery.compared_with,
        "paired": [_paired(questions, score, battery, first, terms) for score in questions.scores],
        "repeats": _repeats(questions, battery.judgments(judged, occasion), terms),
    }


@dataclass(frozen=True, eq=False)
class AskOfBattery:
    """Judgments of one ask: `judged` (n rows) and their `occasion`, as in `Battery.judgments`."""

    questions: QuestionSet
    judged: Judged
    occasion: IntArray


def proposals(battery: Battery, asks: Sequence[AskOfBattery]) -> dict[str, Any]:
    """List the declared rules in sentences, and the workers whom they propose to exclude.

    Args:
        battery: the battery with its rules.
        asks: all asks; the rules apply to each separately.

    Returns:
        `rules`, sentences, and `workers`, sorted by pseudonym, each with `worker` and `reason`.
    """
    reasons: dict[str, list[str]] = {}
    for number, ask in enumerate(asks):
        judgments = battery.judgments(ask.judged, ask.occasion)
        for worker, reason in propose_exclusions(battery.rules, ask.questions, judgments).items():
            by = f"By “{ask.questions.title}”: " if number else ""
            reasons.setdefault(worker, []).append(by + reason)
    return {
        "rules": battery.rules.sentences([ask.questions for ask in asks]),
        "workers": [{"worker": worker, "reason": " ".join(reasons[worker])} for worker in sorted(reasons)],
    }


# --- differences within raters ------------------------------------------------------------------------


def _paired(
    questions: QuestionSet, score: Score, battery: Battery, judged: Judged, terms: Terms
) -> dict[str, Any]:
    """Paired differences of one score: each target minus `compared_with`, with Holm over the targets."""
    values = score.factor * score_values(questions, score, judged.answers)
    of_target = {target: _by_rater(values, judged, judged.bot == target) for target in battery.targets}
    reference = of_target[battery.compared_with]
    tests = {
        target: paired(of_rater, reference, level=terms.level)
        for target, of_rater in of_target.items()
        if target != battery.compared_with
    }
    defined = {target: each for target, each in tests.items() if isinstance(each, Paired)}
    corrected = dict(zip(defined, holm([each.p for each in defined.values()]), strict=True))
    rows = [_row(target, each, corrected.get(target)) for target, each in tests.items()]
    return {"key": score.key, "title": score.title, "rows": rows}


def _by_rater(values: FloatArray, judged: Judged, rows: BoolArray) -> FloatArray:
    """(raters,) mean of each rater's values in these rows; NaN without values."""
    defined = rows & ~np.isnan(values)
    of = judged.rater_code[defined]
    counts = np.bincount(of, minlength=len(judged.raters))
    sums = np.bincount(of, values[defined], len(judged.raters))
    means: FloatArray = np.divide(sums, counts, out=np.full(len(counts), np.nan), where=counts > 0)
    return means


def _row(target: str, test: Paired | Undefined, p_holm: float | None) -> dict[str, Any]:
    if isinstance(test, Undefined):
        return {"target": target, "difference": None, "undefined": test.reason}
    return {
        "target": target,
        "difference": test.difference,
        "low": test.interval.low,
        "high": test.interval.high,
        "p": test.p,
        "p_holm": p_holm,
        "raters": test.raters,
    }


# --- the same judged twice ----------------------------------------------------------------------------


def _repeats(questions: QuestionSet, judgments: BatteryJudgments, terms: Terms) -> list[dict[str, Any]]:
    first, second = repeat_rows(judgments, np.arange(len(judgments.judged)))
    return [
        _alike(
            questions.question(key),
            judgments.judged.answers[key][first],
            judgments.judged.answers[key][second],
            terms,
        )
        for key in rated(questions)
    ]


def _alike(question: Question, first: FloatArray, second: FloatArray, terms: Terms) -> dict[str, Any]:
    """Agreement of workers with themselves on repeated items, with ICC(1)."""
    defined = ~(np.isnan(first) | np.isnan(second))
    one, two = first[defined], second[defined]
    row: dict[str, Any] = {"key": question.key, "question": question.wording, "pairs": len(one)}
    if not len(one):
        return row | {"undefined": "Nobody has judged the same twice yet."}
    gap = np.abs(one - two)
    row |= {
        "same": 100 * float((gap == 0).mean()),
        "within_one": 100 * float((gap <= 1).mean()),
        "shift": float((two - one).mean()),
    }
    units = np.arange(len(one))
    ratings = Ratings.from_columns(
        np.concatenate([units, units]), np.repeat([0, 1], len(one)), np.concatenate([one, two])
    )
    icc = intraclass(ratings, level=terms.level)
    if isinstance(icc, Undefined):
        return row | {"undefined": icc.reason}
    ends = icc.one_way_interval
    return row | {"icc": icc.one_way, "low": ends.low, "high": ends.high}
