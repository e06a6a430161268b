"""Anchors in a bundle: the tables of their known values and judgments, and the report's figures from rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.questions import QuestionSet
from evaluation.report.anchors import anchor_figures
from evaluation.report.bundles.columns import ITEM, LABEL, Column, Kind, Table, answered_in, answers_to
from evaluation.report.bundles.files import Row
from evaluation.report.bundles.study_rows import with_question_keys
from evaluation.report.label_columns import Analysis, AnalysisPlan, Judged
from evaluation.report.studies.judging import AskOfItems

ANCHORS = Table(
    "anchors",
    "One row per anchor in the queue, and ask: an item whose value an earlier study knows. Workers judged it "
    "like any other; it is in no other table and counts in no score.",
    (
        ITEM,
        Column("ask", Kind.INTEGER, "number of the ask, as in study.json"),
        Column("pack", Kind.TEXT, "name of the anchor pack"),
        Column("pack_version", Kind.INTEGER, "number of its version, from 1"),
        Column("pack_sha256", Kind.TEXT, "SHA-256 of its question set, texts and known values"),
        Column("pack_origin", Kind.TEXT, "where its values are from, in words"),
        Column("pack_made_at", Kind.TIME, "when it was made, UTC"),
        Column("pack_anchors", Kind.INTEGER, "number of its anchors"),
        Column("number", Kind.INTEGER, "number of the anchor in its pack, from 1"),
        Column("system", Kind.TEXT, "name of its system in the earlier study"),
        Column("language", Kind.TEXT, "code of the language"),
        Column("said_before", Kind.TEXT, "what was said before, oldest first, as a JSON list of texts"),
        Column(
            "text",
            Kind.TEXT,
            "what is judged; empty for a whole conversation or a context, which is in `said_before`",
        ),
        Column(
            "known",
            Kind.TEXT,
            "by score, a JSON object with `value`, `error` (its standard error) and `raters` (their number); "
            "shares from 0 to 1, or points",
        ),
        Column(
            "common_variance",
            Kind.TEXT,
            "by score, as a JSON object: variance of the mean of the pack's values that its raters have in "
            "common",
        ),
    ),
)


def anchor_judgments_table(sets: Sequence[QuestionSet]) -> Table:
    """The table of judgments of anchors, with a column for each question of these sets."""
    return Table(
        "anchor_judgments",
        "One row per judgment of an anchor: a worker's answers, in the order of their first answers.",
        (ITEM, *LABEL, *answers_to(sets)),
    )


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
