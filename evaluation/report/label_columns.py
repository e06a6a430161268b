"""The labels of a study as columns, for everything that a report computes.

Whose labels a report's numbers rest on: the analysis that a study declared, and the other one. Pure.
"""

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
        reply: (n,) which reply of the conversation it is, counted from 1; the scripted opening is none.
        rater: (n,) pseudonym of the worker.
        latency_ms: (n,) time to reply; NaN where it was not measured.
        answer_ms: (n,) from the reply being shown to the answer; NaN where the page did not say.
        answers: by question key, (n,) the answers as numbers of `questions.coding`; NaN where there is none.
        texts: by key of a free-text question, (n,) the answers; None where there is none.
        day: (n,) when the label was last changed, in days of UTC since 1970-01-01; NaN of one that came with
            a file. None: nobody says when.
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
        """(n,) whether each label is of one of these raters."""
        wanted = set(raters)
        is_wanted: BoolArray = np.array([rater in wanted for rater in self.raters], dtype=np.bool_)
        return is_wanted[self.rater_code]

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
        """(n,) a number for each reply, and by that number the labels of the reply."""
        most = int(self.reply.max(initial=0)) + 1
        _, code, labels = np.unique(
            self.dialogue * most + self.reply, return_inverse=True, return_counts=True
        )
        return code, labels

    @property
    def reply_code(self) -> IntArray:
        """(n,) the same number for all labels of a reply, another for every other reply."""
        return self._of_reply[0]

    @property
    def replies(self) -> int:
        """Replies with at least one label."""
        return len(self._of_reply[1])

    @property
    def most_raters(self) -> int:
        """Most labels that one reply has; 0 without labels."""
        return int(self._of_reply[1].max(initial=0))

    @property
    def shared(self) -> BoolArray:
        """(n,) whether the reply has labels of others, too."""
        code, labels = self._of_reply
        several: BoolArray = (labels > 1)[code]
        return several

    @property
    def order(self) -> IntArray:
        """(n,) indices of the rows by conversation, reply, bot and rater."""
        return np.lexsort((self.rater_code, self.bot_code, self.reply, self.dialogue))

    def in_order(self) -> "Judged":
        """The same labels in one order, so that sums do not depend on how they were read."""
        return self.where(self.order)

    def where(self, keep: BoolArray | IntArray) -> "Judged":
        """The rows at which `keep` (n,) is true, or the rows at these indices."""
        chosen = replace(
            self,
            **{name: getattr(self, name)[keep] for name in _COLUMNS},
            answers={key: values[keep] for key, values in self.answers.items()},
            texts={key: values[keep] for key, values in self.texts.items()},
            day=None if self.day is None else self.day[keep],
        )
        chosen.__dict__.update(
            {name: recode_rows(getattr(self, name), keep) for name in ("_bots", "_raters")}
        )
        return chosen

    @cached_property
    def _rows_of_bots(self) -> dict[str, IntArray]:
        order = np.argsort(self._bots[1], kind="stable")
        ends = np.cumsum(np.bincount(self._bots[1])).tolist()
        return {bot: order[a:b] for bot, a, b in zip(self.bots, [0, *ends], ends, strict=False)}

    def of_bot(self, bot: str) -> "Judged":
        """The labels of one bot; none if it has none."""
        return self.where(self._rows_of_bots.get(bot, np.empty(0, np.int64)))


PILOT = "Pilot: took part before the study was opened to all."
"""Why the people of a study's pilot are excluded, which it declared."""


class Analysis(StrEnum):
    """Whose labels count."""

    ALL = "all"
    WITHOUT_EXCLUDED = "without_excluded"

    @property
    def other(self) -> "Analysis":
        """The one that stands beside."""
        return Analysis.WITHOUT_EXCLUDED if self is Analysis.ALL else Analysis.ALL


@dataclass(frozen=True, slots=True)
class AnalysisPlan:
    """What a study declared before it opened, and who was excluded since.

    Attributes:
        primary: which analysis the report's numbers are of; the other one stands beside.
        rules: by which workers are excluded, in the words of the study.
        excluded: by pseudonym of an excluded worker, the reason.
        margin: the largest difference of the main score that does not matter, as shown; None: none.
    """

    primary: Analysis = Analysis.ALL
    rules: str = ""
    excluded: Mapping[str, str] = field(default_factory=dict)
    margin: float | None = None

    def counted(self, judged: Judged, analysis: Analysis | None = None) -> BoolArray:
        """Whether each label counts in an analysis.

        Args:
            judged: n labels with their raters.
            analysis: which; None for the primary one.

        Returns:
            (n,) truth values.
        """
        if (analysis or self.primary) is Analysis.ALL or not self.excluded:
            return np.ones(len(judged), dtype=np.bool_)
        return ~judged.by(self.excluded)

    def stored(self, judged: Judged, figures: Callable[[BoolArray], dict[str, Any]]) -> dict[str, Any]:
        """The figures of the primary analysis, what it is, who was excluded, and the other one beside.

        Args:
            judged: the labels of all.
            figures: what is stored about the labels that are kept, given as (n,) booleans.

        Returns:
            These figures, and `primary`, `rules`, `excluded` and `other`: None if nobody was excluded, since
            both are the same then.
        """
        labels = judged.labels_of_raters
        other = self.primary.other
        beside = {"analysis": other.value, **figures(self.counted(judged, other))} if self.excluded else None
        return {
            **figures(self.counted(judged)),
            "primary": self.primary.value,
            "rules": self.rules,
            "excluded": [
                {"worker": worker, "reason": self.excluded[worker], "labels": labels.get(worker, 0)}
                for worker in sorted(self.excluded)
            ],
            "other": beside,
        }

    def parts(self, result: dict[str, Any], judged: Judged) -> Iterator[tuple[dict[str, Any], Judged]]:
        """The figures of each analysis that a result has, with the labels that count in it."""
        yield result, judged.where(self.counted(judged))
        if result["other"] is not None:
            yield result["other"], judged.where(self.counted(judged, self.primary.other))


def of_all(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a stored report has of all workers' labels: of both analyses alike if nobody was excluded.

    Args:
        result: as stored; it has a part for each analysis only if somebody was excluded.
    """
    return figures_of(result, Analysis.ALL) or result


def figures_of(result: Mapping[str, Any], analysis: Analysis) -> Mapping[str, Any] | None:
    """What a stored report has of one analysis; None of the other one if nobody was excluded."""
    found: Mapping[str, Any] | None = result if result["primary"] == analysis else result["other"]
    return found


def other_result(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """A stored result, or that of one ask, as it would be with the other analysis as the primary one.

    None if nobody was excluded, since both are the same then. What has no analysis stays as it is.
    """
    other = result.get("other")
    return {**result, **other, "primary": other["analysis"], "other": None} if other else None
