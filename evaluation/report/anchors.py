"""Figures of the anchors of a study: shift against an earlier study, drift of raters, linked scores. Pure.

All values have the unit of the report: percent, or points of the scale.
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from evaluation.questions import QuestionSet, Score, bounds, score_values
from evaluation.report.answers import Row, coded_columns
from evaluation.report.label_columns import Judged
from evaluation.statistics.inference import samples, t
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.linking import (
    LinkedScore,
    LinkingError,
    Shift,
    linked,
    linked_together,
    rater_drift,
    shift,
)

MOST_PERIODS = 4
"""Largest number of periods into which the judgments of anchors are divided."""
LEAST_OF_PERIOD = 20
"""Smallest number of judgments of a period."""
_ANCHORS = -1
"""Code of the anchors among those of systems."""


def anchor_figures(
    ask: int,
    questions: QuestionSet,
    anchors: Sequence[Row],
    judgments: Sequence[Row],
    own: Judged,
    scores: Mapping[str, Any],
    *,
    excluded: Collection[str],
    level: float,
) -> dict[str, Any]:
    """Compute the figures of the anchors of one ask, ready to be stored as JSON.

    Args:
        ask: number of the ask.
        questions: its question set.
        anchors: its rows of the table `anchors`, at least one.
        judgments: its rows of the table `anchor_judgments`; answers by question key.
        own: its judgments of the study's own items that count in the primary analysis, in order.
        scores: figures of the ask with `columns` and `bots`, as in the report.
        excluded: pseudonyms of the workers who do not count in the primary analysis.
        level: nominal coverage of the intervals, in (0, 1).

    Returns:
        The `pack`, the numbers of `anchors`, of `judged` ones, of `judgments` and of `raters`, and by score
        of the set: `shift` (None without, with the reason in `words`), `anchors` with known and new value,
        `raters` with their drift, `periods` with the shift of each, and `systems` with linked scores.

    Raises:
        ValueError: a judgment is of an unknown anchor, or has an answer that the question set lacks.
    """
    number = {row["item"]: n for n, row in enumerate(anchors)}
    for row in judgments:
        if row["item"] not in number:
            raise ValueError(f"a judgment of anchor {row['item']}, which data/anchors.jsonl does not have.")
    counted = [row for row in judgments if row["rater"] not in excluded]
    judged = _Judged(questions, anchors, counted, [number[row["item"]] for row in counted], own)
    first = anchors[0]
    return {
        "ask": ask,
        "title": questions.title,
        "pack": {
            "title": first["pack"],
            "version": first["pack_version"],
            "sha256": first["pack_sha256"],
            "origin": first["pack_origin"],
            "anchors": first["pack_anchors"],
        },
        "anchors": len(anchors),
        "judged": len(np.unique(judged.item)),
        "judgments": len(counted),
        "raters": len(judged.raters),
        "level": level,
        "scores": [
            judged.of_score(score, column, scores, level)
            for column, score in enumerate(questions.scores)
            if any(score.key in known for known in judged.known)
        ],
    }


class _Judged:
    """Judgments of the anchors of one ask, as columns, beside those of the study's own items."""

    def __init__(
        self, questions: QuestionSet, anchors: Sequence[Row], rows: Sequence[Row], item: Sequence[int],
        own: Judged,
    ) -> None:  # fmt: skip
        self._questions, self._anchors, self._rows, self._own = questions, anchors, rows, own
        self.item: IntArray = np.array(item, dtype=np.int64)
        # By pseudonym, so that a bundle, which has nothing else, sums in the same order.
        names, self.rater = np.unique([str(row["rater"]) for row in rows], return_inverse=True)
        self.raters: list[str] = names.tolist()
        self.known: list[Mapping[str, Any]] = [json.loads(row["known"]) for row in anchors]
        self._common: Mapping[str, float] = json.loads(anchors[0]["common_variance"])
        self._answers = coded_columns(questions, rows)

    def of_score(self, score: Score, column: int, scores: Mapping[str, Any], level: float) -> dict[str, Any]:
        """Figures of one score."""
        factor = score.factor
        values = factor * score_values(self._questions, score, self._answers)
        of_item = np.array(
            [factor * known[score.key]["value"] if score.key in known else math.nan for known in self.known]
        )
        known = of_item[self.item] if len(self.item) else np.zeros(0)
        common = factor**2 * self._common.get(score.key, 0.0)
        freedom = self._old_raters(score.key) - 1
        found, words = self._shift(values, known, common, freedom, level)
        by_system = self._linked(score, values - known, common, freedom, level) if found else {}
        return {
            "key": score.key,
            "title": score.title,
            "is_percent": score.is_percent,
            "shift": asdict(found) if found else None,
            "words": words,
            "anchors": [self._anchor(n, score, values, of_item[n]) for n in range(len(self._anchors))],
            "raters": [
                {**asdict(each), "rater": self.raters[each.rater]}
                for each in rater_drift(values, known, self.rater, level=level)
            ],
            "periods": self._periods(values, known, level),
            "systems": _systems(scores, column, found, by_system, level),
        }

    def _linked(
        self, score: Score, drift: FloatArray, common: float, freedom: float, level: float
    ) -> dict[str, LinkedScore | None]:
        """By system, its linked score; None if its error is not known.

        Args:
            score: the score.
            drift: (n,) answers about anchors less known values.
            common: variance that the old raters have in common.
            freedom: its degrees of freedom.
            level: nominal coverage.
        """
        own, given = self._own, ~np.isnan(drift)
        values = score.factor * score_values(self._questions, score, own.answers)
        # Each anchor counts equally, however many judged it.
        answers = np.bincount(self.item[given], minlength=len(self._anchors))
        names = np.array([*own.raters, *self.raters], dtype=object)
        rater = np.concatenate([own.rater_code, len(own.raters) + self.rater[given]])
        found = samples(
            np.concatenate([own.bot_code, np.full(given.sum(), _ANCHORS)]),
            np.concatenate([values, drift[given]]),
            # Items and anchors have nothing in common: even and odd codes.
            np.concatenate([2 * own.dialogue, 2 * self.item[given] + 1]),
            names[rater],
            np.concatenate(
                [
                    np.ones(len(own)) if own.weight is None else own.weight,
                    1 / answers[self.item[given]],
                ]
            ),
        )
        of_anchors = found.pop(_ANCHORS)
        low, high = bounds(self._questions, score)
        scale = (score.factor * low, score.factor * high)
        return {
            own.bots[int(code)]: linked_together(  # type: ignore[call-overload]
                sample, of_anchors, scale=scale, common_variance=common, common_freedom=freedom, level=level
            )
            for code, sample in found.items()
        }

    def _old_raters(self, score: str) -> int:
        """Smallest number of raters that the known values of a score can have: those of one anchor.

        Packs do not record the number of all their raters.
        """
        return max(int(known[score]["raters"]) for known in self.known if score in known)

    def _shift(
        self, values: FloatArray, known: FloatArray, common: float, freedom: float, level: float,
        rows: Any = slice(None),
    ) -> tuple[Shift | None, str]:  # fmt: skip
        try:
            found = shift(
                values[rows], known[rows], self.item[rows], self.rater[rows],
                common_variance=common, common_freedom=freedom, level=level,
            )  # fmt: skip
        except LinkingError as error:
            return None, str(error)
        return found, ""

    def _anchor(self, number: int, score: Score, values: FloatArray, known: float) -> dict[str, Any]:
        given = values[(self.item == number) & ~np.isnan(values)]
        stored = self.known[number].get(score.key)
        return {
            "item": self._anchors[number]["item"],
            "system": self._anchors[number]["system"],
            "known": None if stored is None else known,
            "known_error": None if stored is None else score.factor * stored["error"],
            "known_raters": 0 if stored is None else stored["raters"],
            "new": float(given.mean()) if len(given) else None,
            "raters": len(given),
        }

    def _periods(self, values: FloatArray, known: FloatArray, level: float) -> list[dict[str, Any]]:
        """Shift within consecutive parts of the judgments of equal size; empty with too few for two.

        The common variance of the known values is left out: it is the same in every period.
        """
        rows = np.flatnonzero(~(np.isnan(values) | np.isnan(known)))
        number = min(MOST_PERIODS, len(rows) // LEAST_OF_PERIOD)
        if number < 2:
            return []
        found = []
        for part in np.array_split(rows, number):
            within, words = self._shift(values, known, 0.0, math.inf, level, part)
            days = sorted(str(self._rows[row]["labelled_at"])[: len("2026-01-31")] for row in part)
            found.append(
                {
                    "first_day": days[0],
                    "last_day": days[-1],
                    "judgments": len(part),
                    "shift": asdict(within) if within else None,
                    "words": words,
                }
            )
        return found


def _systems(
    scores: Mapping[str, Any],
    column: int,
    by: Shift | None,
    by_system: Mapping[str, LinkedScore | None],
    level: float,
) -> list[dict[str, Any]]:
    """Score of each system of the study, and the same on the scale of the pack."""
    found = []
    for bot in scores.get("bots") or ():
        cell = bot["cells"][column]
        on_scale = None
        if by and cell["value"] is not None and "low" in cell:
            # Half the width, since an interval near an end of the scale has two different halves.
            freedom = cell["freedom"]
            error = (cell["high"] - cell["low"]) / 2 / t(freedom, level)
            on_scale = asdict(
                by_system.get(bot["bot"]) or linked(cell["value"], error, by, freedom=freedom, level=level)
            )
        found.append(
            {
                "bot": bot["bot"],
                "value": cell["value"],
                "low": cell.get("low"),
                "high": cell.get("high"),
                "linked": on_scale,
            }
        )
    return found
