"""The part of a report of judging that links it with an earlier study by anchors."""

from typing import Any

from evaluation.protocols import protocol_named
from evaluation.report.bundles.anchor_rows import AnchorRows
from evaluation.report.label_columns import Analysis, AnalysisPlan
from turnwise.judging.asks import asks_of_readers
from turnwise.questions.question_sets import question_set
from turnwise.reports.report_kinds import Computation
from turnwise.studies.models import Study


def with_anchors(
    compute: Computation, anchors: AnchorRows, study: Study, plan: AnalysisPlan
) -> dict[str, Any]:
    """Compute a report, unchanged, and `anchors` beside it."""
    return anchors.with_figures(
        compute(),
        [(ask.number, question_set(ask.question_set)) for ask in asks_of_readers(study)],
        excluded=plan.excluded if plan.primary is not Analysis.ALL else {},
        level=protocol_named(study.protocol).level,
    )
