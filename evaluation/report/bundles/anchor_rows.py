"""Conversion of the bundle rows of anchors to the report's figures about them."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.questions import QuestionSet
from evaluation.report.anchors import anchor_figures
from evaluation.report.bundles.columns import answered_in
from evaluation.report.bundles.files import Row
from evaluation.report.bundles.study_rows import with_question_keys


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
        asks: Sequence[tuple[int, QuestionSet]],
        *,
        excluded: Collection[str],
        level: float,
    ) -> dict[str, Any]:
        """Add `anchors` to a report: a list with the figures of each ask that has some.

        `position` of each is the number of its ask in the report, 0 for the main one.

        Args:
            report: result of `evaluation.report.studies.judging.judging_result`.
            asks: number and question set of each ask of readers, in the order of the report.
            excluded: pseudonyms of the workers who do not count in the primary analysis.
            level: nominal coverage of the intervals, in (0, 1).
        """
        named = answered_in([questions for _, questions in asks])
        figures = [
            anchor_figures(
                number,
                questions,
                [row for row in self.anchors if row["ask"] == number],
                with_question_keys(
                    [row for row in self.judgments if row["ask"] == number], named[questions.key]
                ),
                scores,
                excluded=excluded,
                level=level,
            )
            | {"position": position}
            for position, ((number, questions), scores) in enumerate(
                zip(asks, [report, *report.get("beside", ())], strict=True)
            )
            if self.number_of(number)
        ]
        return {**report, "anchors": figures} if figures else dict(report)
