"""What single workers do to the scores of a study. Pure."""

from datetime import date
from typing import Any

import numpy as np

from evaluation.labels import FloatArray
from evaluation.questions import QuestionSet, Score, score_values
from evaluation.report.judged import Judged

# A reader looks for the workers who matter most; the rest move the score by less than the last of these.
SHOWN = 10
_EPOCH = date(1970, 1, 1).toordinal()


def rater_figures(questions: QuestionSet, judged: Judged) -> dict[str, Any]:
    """How the labels are spread over workers, and whose absence would move a bot's main score most.

    Args:
        questions: what was asked; its main score is looked at.
        judged: the labels.

    Returns:
        As stored: numbers of labels by worker, and differences in points of the scale, shares in percent; of
        labels that were given here `first_day` and `last_day`, and how many are `undated` beside them.
    """
    counts = list(judged.labels_of_raters.values())
    known: dict[str, Any] = {"workers": len(counts), "labels": len(judged), "influence": [], "alone": []}
    if not counts:
        return known
    known |= {"median_labels": float(np.median(counts)), "most_labels": max(counts), **_days(judged)}
    if questions.main_score is None:
        return known
    return known | {"score": questions.main_score.title} | _influence(questions, questions.main_score, judged)


def _days(judged: Judged) -> dict[str, Any]:
    """On which days of UTC the first and the last label were given; nothing if all came with files."""
    if judged.day is None or np.isnan(judged.day).all():
        return {}
    first, last = (_iso(day) for day in (np.nanmin(judged.day), np.nanmax(judged.day)))
    return {"first_day": first, "last_day": last, "undated": int(np.isnan(judged.day).sum())}


def _iso(day: float) -> str:
    return date.fromordinal(_EPOCH + int(day)).isoformat()


def _influence(questions: QuestionSet, score: Score, judged: Judged) -> dict[str, Any]:
    """Leave one worker out: what a bot's mean is without their labels, and how far they move it."""
    values = score_values(questions, score, judged.answers)
    known = ~np.isnan(values)
    bot, values = judged.bot_code[known], score.factor * values[known]
    pairs, pair = np.unique(judged.rater_code[known] * len(judged.bots) + bot, return_inverse=True)
    rater_of, bot_of = np.divmod(pairs, len(judged.bots))
    own = _sums(pair, values, len(pairs))
    everything = _sums(bot, values, len(judged.bots))[bot_of]
    total, left = (everything - own).T
    without = np.divide(total, left, out=np.full(len(left), np.nan), where=left > 0)
    shift = everything[:, 0] / everything[:, 1] - without
    order = [row for row in np.argsort(-np.abs(shift), kind="stable").tolist() if not np.isnan(shift[row])]
    raters, bots = judged.raters, judged.bots
    names = [(raters[rater], bots[of]) for rater, of in zip(rater_of.tolist(), bot_of.tolist(), strict=True)]
    return {
        "influence": [
            {
                "worker": names[row][0],
                "bot": names[row][1],
                "labels": int(own[row, 1]),
                "without": float(without[row]),
                "shift": float(shift[row]),
            }
            for row in order[:SHOWN]
        ],
        "alone": [
            f"{names[row][0]} gave all labels of {names[row][1]}." for row in np.flatnonzero(np.isnan(shift))
        ],
    }


def _sums(group: np.ndarray[Any, np.dtype[np.int64]], values: FloatArray, groups: int) -> FloatArray:
    """(groups, 2) sum and number of the values of each group."""
    return np.column_stack([np.bincount(group, values, groups), np.bincount(group, minlength=groups)])
