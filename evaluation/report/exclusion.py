"""Declared exclusion rules, and the exclusions that they propose. Pure.

A person must confirm a proposal, and the report has every figure with and without excluded workers. The rules
come from the R-U-A-Robot user study (Gros, Li & Yu 2021, section 6): raters whose ratings hardly vary, or who
do not repeat themselves, did not read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evaluation.files.writing import with_unit
from evaluation.questions import QuestionSet
from evaluation.report.label_columns import Judged
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray

FEWEST = 5
"""Fewest judgments for a meaningful spread or median of a worker."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Exclusion rules; a rule without its number is not declared.

    Attributes:
        repeat_points: largest accepted difference, in points, of two answers about a repeated item.
        repeat_questions: number of questions with a larger difference from which the rule applies.
        least_spread: smallest standard deviation, over a worker's judgments, of the sum of their ratings.
        least_seconds: smallest median time to an answer, in seconds.
        filler_question: key of a question whose right answers about fillers are known.
        filler_least: smallest right answer to it.
        filler_misses: largest accepted number of wrong answers.
    """

    repeat_points: int | None = None
    repeat_questions: int = 1
    least_spread: float | None = None
    least_seconds: float | None = None
    filler_question: str = ""
    filler_least: float | None = None
    filler_misses: int = 0

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Rules":
        """Read rules from a bundle's study.json."""
        return cls(**{name: stored[name] for name in asdict(cls()) if name in stored})

    def of(self, questions: QuestionSet) -> "Rules":
        """Select the rules that apply to these questions."""
        ratings = rated(questions)
        there = self
        if not ratings:
            there = replace(there, repeat_points=None, least_spread=None)
        return there if self.filler_question in ratings else replace(there, filler_question="")

    def sentences(self, sets: Sequence[QuestionSet]) -> list[str]:
        """State each declared rule in a sentence, for each question set, without duplicates."""
        return list(
            dict.fromkeys(rule for questions in sets for rule in self.of(questions)._sentences(questions))
        )

    def _sentences(self, questions: QuestionSet) -> list[str]:
        sentences = []
        if self.repeat_points is not None:
            sentences.append(
                f"What comes twice is judged more than {_points(self.repeat_points)} apart on "
                f"{self.repeat_questions} or more questions."
            )
        if self.least_spread is not None:
            sentences.append(f"The sum of the ratings has a standard deviation below {self.least_spread:g}.")
        if self.least_seconds is not None:
            sentences.append(f"The median answer came in less than {self.least_seconds:g}\u00a0s.")
        if self.filler_question and self.filler_least is not None:
            wording = questions.question(self.filler_question).wording
            sentences.append(
                f"At “{wording}” more than {self.filler_misses} of the fillers are below "
                f"{self.filler_least:g}."
            )
        return sentences


@dataclass(frozen=True, eq=False)
class BatteryJudgments:
    """All judgments of the workers of a study with batteries.

    Attributes:
        judged: one row per judgment, including repeats.
        occasion: (n,) 2 if the worker judged the same item before.
        is_filler: (n,) true for fillers.
    """

    judged: Judged
    occasion: IntArray
    is_filler: BoolArray


def propose_exclusions(rules: Rules, questions: QuestionSet, judgments: BatteryJudgments) -> dict[str, str]:
    """Apply the declared rules.

    Args:
        rules: the declared rules.
        questions: the question set.
        judgments: all judgments with their role in the battery.

    Returns:
        By worker proposed for exclusion, the reason with its numbers, in a sentence.
    """
    rules, reasons = rules.of(questions), dict[str, str]()
    for code, worker in enumerate(judgments.judged.raters):
        rows = np.flatnonzero(judgments.judged.rater_code == code)
        if reason := " ".join(_broken(rules, questions, judgments, rows)):
            reasons[worker] = reason
    return reasons


def rated(questions: QuestionSet) -> list[str]:
    """Keys of the questions that are ratings: their answers have a mean."""
    return [question.key for question in questions.questions if question.has_mean]


def _broken(
    rules: Rules, questions: QuestionSet, judgments: BatteryJudgments, rows: IntArray
) -> Iterator[str]:
    yield from _repeats(rules, questions, judgments, rows)
    yield from _spread(rules, questions, judgments, rows)
    yield from _haste(rules, judgments, rows)
    yield from _fillers(rules, questions, judgments, rows)


def _repeats(
    rules: Rules, questions: QuestionSet, judgments: BatteryJudgments, rows: IntArray
) -> Iterator[str]:
    if rules.repeat_points is None:
        return
    gaps = np.array(list(repeat_gaps(questions, judgments, rows).values()))
    for repeat in range(gaps.shape[1] if len(gaps) else 0):
        differs = gaps[:, repeat] > rules.repeat_points
        if differs.sum() >= rules.repeat_questions:
            yield (
                f"Judged the same thing twice, and {int(differs.sum())} of {len(gaps)} answers are more than "
                f"{_points(rules.repeat_points)} apart (at most {np.nanmax(gaps[:, repeat]):g})."
            )
            return


def repeat_gaps(questions: QuestionSet, judgments: BatteryJudgments, rows: IntArray) -> dict[str, FloatArray]:
    """Compute the differences of a worker's answers about repeated items, by rating.

    Args:
        questions: the question set; only ratings count.
        judgments: all judgments.
        rows: (r,) indices of the worker's judgments.

    Returns:
        By key, (t,) points, at least 0, for t repeated items; NaN if one answer is missing.
    """
    first, second = repeat_rows(judgments, rows)
    answers = judgments.judged.answers
    return {key: np.abs(answers[key][first] - answers[key][second]) for key in rated(questions)}


def repeat_rows(judgments: BatteryJudgments, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Find the pairs of judgments of repeated items.

    Args:
        judgments: all judgments.
        rows: (m,) indices of the judgments to search.

    Returns:
        Rows of the first and of the second judgment of each repeated item, (p,) each, in the same order.
    """
    judged = judgments.judged
    named = {
        (judged.rater_code[row], judged.reply_code[row]): row
        for row in rows.tolist()
        if judgments.occasion[row] == 1
    }
    repeats = [
        (named[key], row)
        for row in rows.tolist()
        if judgments.occasion[row] == 2 and (key := (judged.rater_code[row], judged.reply_code[row])) in named
    ]
    pairs = np.array(repeats, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _spread(
    rules: Rules, questions: QuestionSet, judgments: BatteryJudgments, rows: IntArray
) -> Iterator[str]:
    if rules.least_spread is None:
        return
    total = np.sum([judgments.judged.answers[key][rows] for key in rated(questions)], axis=0)
    sums = _known(np.asarray(total, dtype=np.float64))
    if len(sums) >= FEWEST and (deviation := float(sums.std(ddof=1))) < rules.least_spread:
        yield (
            f"The sums of the ratings have a standard deviation of {deviation:.2f} over {len(sums)} "
            f"judgments, below {rules.least_spread:g}."
        )


def _haste(rules: Rules, judgments: BatteryJudgments, rows: IntArray) -> Iterator[str]:
    if rules.least_seconds is None:
        return
    times = _known(judgments.judged.answer_ms[rows]) / 1000
    if len(times) >= FEWEST and (median := float(np.median(times))) < rules.least_seconds:
        took, least = with_unit(f"{median:.1f}", "s"), with_unit(f"{rules.least_seconds:g}", "s")
        yield f"The median of {len(times)} answers came after {took}, below {least}."


def _fillers(
    rules: Rules, questions: QuestionSet, judgments: BatteryJudgments, rows: IntArray
) -> Iterator[str]:
    if not rules.filler_question or rules.filler_least is None:
        return
    answers = _known(judgments.judged.answers[rules.filler_question][rows[judgments.is_filler[rows]]])
    wrong = int((answers < rules.filler_least).sum())
    if wrong > rules.filler_misses:
        wording = questions.question(rules.filler_question).wording
        yield (
            f"{wrong} of {len(answers)} fillers are below {rules.filler_least:g} at “{wording}”, more than "
            f"{rules.filler_misses}."
        )


def _known(values: AnyArray) -> FloatArray:
    defined: FloatArray = values[~np.isnan(values)]
    return defined


def _points(number: float) -> str:
    return "1 point" if number == 1 else f"{number:g} points"
