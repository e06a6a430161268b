"""Conversion of the bundle rows of anchors to the report's figures about them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.report.anchors import anchor_figures
from evaluation.report.bundles.columns import answered_in
from evaluation.report.bundles.files import Row
from evaluation.report.bundles.study_rows import with_question_keys
from evaluation.report.label_columns import Analysis, AnalysisPlan, Judged
from evaluation.report.studies.judging import AskOfItems


@dataclass(frozen=True, slots=True)
class AnchorRows:
    """Rows of the tables `anchors` and `anchor_judgments` of a study; both empty without anchors."""

    anchors: Sequence[Row] = ()
    judgments: Sequence[Row] = field(default_factory=list)

    def number_of(self, ask: int) -> int:
        """Number of the anchors of an ask in the queue."""
        return sum(row["ask"] == ask for row in self.anchors)

    def judged_by(self, ask: int) -> Counter[str]:
        """By pseudonym, the number of anchors of an ask that a rater judged."""
        return Counter(str(row["rater"]) for row in self.judgments if row["ask"] == ask)

    def with_figures(
        self,
        report: Mapping[str, Any],
        asks: Sequence[tuple[int, AskOfItems]],
        *,
        plan: AnalysisPlan,
        level: float,
    ) -> dict[str, Any]:
        """Add `anchors` to a report: a list with the figures of each ask that has some.

        `position` of each is the number of its ask in the report, 0 for the main one.

        Args:
            report: result of `evaluation.report.studies.judging.judging_result`.
            asks: number of each ask of readers with its judgments, in the order of the report.
            plan: analysis whose excluded workers do not count.
            level: nominal coverage of the intervals, in (0, 1).
        """
        named = answered_in([ask.questions for _, ask in asks])
        excluded = plan.excluded if plan.primary is not Analysis.ALL else {}
        figures = [
            anchor_figures(
                number,
                ask.questions,
                [row for row in self.anchors if row["ask"] == number],
                with_question_keys(
                    [row for row in self.judgments if row["ask"] == number], named[ask.questions.key]
                ),
                _counted(ask, plan),
                scores,
                excluded=excluded,
                level=level,
            )
            | {"position": position}
            for position, ((number, ask), scores) in enumerate(
                zip(asks, [report, *report.get("beside", ())], strict=True)
            )
            if self.number_of(number)
        ]
        return {**report, "anchors": figures} if figures else dict(report)


def _counted(ask: AskOfItems, plan: AnalysisPlan) -> Judged:
    """First judgments of the items by the workers who count, in order."""
    judged = ask.found.judged_once().judged
    return judged.where(plan.counted(judged))
