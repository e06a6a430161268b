"""Labels of a study as columns, and the declared analysis that decides which labels count. Pure."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray, coded, recode_rows

_COLUMNS = ("bot", "dialogue", "reply", "rater", "latency_ms", "answer_ms")


@dataclass(frozen=True, eq=False)
class Judged:
    """One row per label.

    Attributes:
        bot: (n,) name of the bot, or of the system.
        dialogue: (n,) the conversation, or the context.
        reply: (n,) number of the reply in its conversation, from 1; the scripted opening does not count.
        rater: (n,) pseudonym of the worker.
        latency_ms: (n,) time to reply; NaN if not measured.
        answer_ms: (n,) time from display of the reply to the answer; NaN if not measured.
        answers: by question key, (n,) the answers as numbers of `questions.scores`; NaN for no answer.
        texts: by key of a free-text question, (n,) the answers; None for no answer.
        day: (n,) day of the last change of the label, in UTC days since 1970-01-01; NaN for labels from a
            file. None: unknown.
        weight: (n,) how much each label counts in scores: 1 / the probability with which its item was drawn
            for people. None: all alike.
    """

    bot: AnyArray
    dialogue: IntArray
    reply: IntArray
    rater: AnyArray
    latency_ms: FloatArray
    answer_ms: FloatArray
    answers: Mapping[str, FloatArray]
    texts: Mapping[str, AnyArray] = field(default_factory=dict)
    day: FloatArray | None = None
    weight: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.bot)

    @cached_property
    def _bots(self) -> tuple[AnyArray, IntArray]:
        return coded(self.bot)

    @cached_property
    def _raters(self) -> tuple[AnyArray, IntArray]:
        return coded(self.rater)

    @property
    def bots(self) -> list[str]:
        """The names of the bots, in rising order."""
        names: list[str] = self._bots[0].tolist()
        return names

    @property
    def bot_code(self) -> IntArray:
        """(n,) the index in `bots` of the bot."""
        return self._bots[1]

    @property
    def raters(self) -> list[str]:
        """The names of the raters, in rising order."""
        names: list[str] = self._raters[0].tolist()
        return names

    @property
    def rater_code(self) -> IntArray:
        """(n,) the index in `raters` of the rater."""
        return self._raters[1]

    def by(self, raters: Collection[str]) -> BoolArray:
        """(n,) true for labels of these raters."""
        selected = set(raters)
        is_selected: BoolArray = np.array([rater in selected for rater in self.raters], dtype=np.bool_)
        return is_selected[self.rater_code]

    @property
    def labels_of_bots(self) -> dict[str, int]:
        """By bot, the number of labels."""
        return dict(zip(self.bots, np.bincount(self._bots[1]).tolist(), strict=True))

    @property
    def labels_of_raters(self) -> dict[str, int]:
        """By pseudonym, the number of labels."""
        return dict(zip(self.raters, np.bincount(self._raters[1]).tolist(), strict=True))

    @cached_property
    def _of_reply(self) -> tuple[IntArray, IntArray]:
        """(n,) code of the reply of each label, and by code the number of labels of the reply."""
        most = int(self.reply.max(initial=0)) + 1
        _, code, labels = np.unique(
            self.dialogue * most + self.reply, return_inverse=True, return_counts=True
        )
        return code, labels

    @property
    def reply_code(self) -> IntArray:
        """(n,) code of the reply of each label."""
        return self._of_reply[0]

    @property
    def replies(self) -> int:
        """Number of replies with at least one label."""
        return len(self._of_reply[1])

    @property
    def most_raters(self) -> int:
        """Largest number of labels of one reply; 0 without labels."""
        return int(self._of_reply[1].max(initial=0))

    @property
    def shared(self) -> BoolArray:
        """(n,) true if the reply has several labels."""
        code, labels = self._of_reply
        several: BoolArray = (labels > 1)[code]
        return several

    @property
    def order(self) -> IntArray:
        """(n,) indices of the rows by conversation, reply, bot and rater."""
        return np.lexsort((self.rater_code, self.bot_code, self.reply, self.dialogue))

    def in_order(self) -> "Judged":
        """Sort the labels, so that sums do not depend on the order of reading."""
        return self.where(self.order)

    def where(self, keep: BoolArray | IntArray) -> "Judged":
        """Select rows by a mask (n,) or by indices; all of them are not copied."""
        if keep.dtype == np.bool_ and keep.all():
            return self
        selected = replace(
            self,
            **{name: getattr(self, name)[keep] for name in _COLUMNS},
            answers={key: values[keep] for key, values in self.answers.items()},
            texts={key: values[keep] for key, values in self.texts.items()},
            day=None if self.day is None else self.day[keep],
            weight=None if self.weight is None else self.weight[keep],
        )
        selected.__dict__.update(
            {name: recode_rows(getattr(self, name), keep) for name in ("_bots", "_raters")}
        )
        return selected

    @cached_property
    def _rows_of_bots(self) -> dict[str, IntArray]:
        order = np.argsort(self._bots[1], kind="stable")
        ends = np.cumsum(np.bincount(self._bots[1])).tolist()
        return {bot: order[a:b] for bot, a, b in zip(self.bots, [0, *ends], ends, strict=False)}

    def of_bot(self, bot: str) -> "Judged":
        """Labels of one bot; empty for a bot without labels."""
        return self.where(self._rows_of_bots.get(bot, np.empty(0, np.int64)))


PILOT = "Pilot: took part before the study was opened to all."
"""Reason for the declared exclusion of the workers of a study's pilot."""


class Analysis(StrEnum):
    """Choice of the workers whose labels count."""

    ALL = "all"
    WITHOUT_EXCLUDED = "without_excluded"

    @property
    def other(self) -> "Analysis":
        """The other analysis."""
        return Analysis.WITHOUT_EXCLUDED if self is Analysis.ALL else Analysis.ALL


@dataclass(frozen=True, slots=True)
class AnalysisPlan:
    """The analysis that a study declared before it opened, and the workers excluded since.

    Attributes:
        primary: the analysis of the report's numbers; the other one is shown in addition.
        rules: rules of exclusion, in the words of the study.
        excluded: by pseudonym of an excluded worker, the reason.
        margin: the largest difference of the main score that does not matter, as shown; None: none.
    """

    primary: Analysis = Analysis.ALL
    rules: str = ""
    excluded: Mapping[str, str] = field(default_factory=dict)
    margin: float | None = None

    def counted(self, judged: Judged, analysis: Analysis | None = None) -> BoolArray:
        """Select the labels that count in an analysis.

        Args:
            judged: n labels with their raters.
            analysis: the analysis; None for the primary one.

        Returns:
            (n,) truth values.
        """
        if (analysis or self.primary) is Analysis.ALL or not self.excluded:
            return np.ones(len(judged), dtype=np.bool_)
        return ~judged.by(self.excluded)

    def stored(self, judged: Judged, figures: Callable[[BoolArray], dict[str, Any]]) -> dict[str, Any]:
        """Compute the figures of both analyses, as stored.

        Args:
            judged: all labels.
            figures: function from a mask (n,) of labels to their figures.

        Returns:
            The figures of the primary analysis, and `primary`, `rules`, `excluded` and `other`, the figures
            of the other analysis; None without excluded workers, since both analyses are then equal.
        """
        labels = judged.labels_of_raters
        other = self.primary.other
        other_figures = (
            {"analysis": other.value, **figures(self.counted(judged, other))} if self.excluded else None
        )
        return {
            **figures(self.counted(judged)),
            "primary": self.primary.value,
            "rules": self.rules,
            "excluded": [
                {"worker": worker, "reason": self.excluded[worker], "labels": labels.get(worker, 0)}
                for worker in sorted(self.excluded)
            ],
            "other": other_figures,
        }

    def parts(self, result: dict[str, Any], judged: Judged) -> Iterator[tuple[dict[str, Any], Judged]]:
        """Yield the figures of each analysis in a result, with the labels that count in it."""
        yield result, judged.where(self.counted(judged))
        if result["other"] is not None:
            yield result["other"], judged.where(self.counted(judged, self.primary.other))


def of_all(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Figures of a stored report over the labels of all workers.

    Args:
        result: the stored report; it has a part for each analysis only if a worker was excluded.
    """
    return figures_of(result, Analysis.ALL) or result


def figures_of(result: Mapping[str, Any], analysis: Analysis) -> Mapping[str, Any] | None:
    """Figures of one analysis in a stored report; None for the other one without excluded workers."""
    figures: Mapping[str, Any] | None = result if result["primary"] == analysis else result["other"]
    return figures


def other_result(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Convert a stored result (of a report or an ask) as if the other analysis were the primary one.

    None without excluded workers, since both analyses are then equal. Parts that do not depend on the
    analysis stay unchanged.
    """
    other = result.get("other")
    return {**result, **other, "primary": other["analysis"], "other": None} if other else None
