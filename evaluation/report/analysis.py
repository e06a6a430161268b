"""Whose labels a report's numbers rest on: the analysis that a study declared, and the other one. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from evaluation.labels import BoolArray
from evaluation.report.judged import Judged

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
