"""The part of a report of judging that links it with an earlier study by anchors."""

from collections.abc import Sequence
from typing import Any

from evaluation.protocols import protocol_named
from evaluation.report.bundles.anchor_rows import AnchorRows
from evaluation.report.label_columns import AnalysisPlan
from evaluation.report.studies.judging import AskOfItems
from turnwise.judging.asks import asks_of_readers
from turnwise.reports.report_kinds import Computation
from turnwise.studies.models import Study


def with_anchors(
    compute: Computation, anchors: AnchorRows, asks: Sequence[AskOfItems], study: Study, plan: AnalysisPlan
) -> dict[str, Any]:
    """Compute a report, unchanged, and `anchors` beside it."""
    numbers = [ask.number for ask in asks_of_readers(study)]
    return anchors.with_figures(
        compute(),
        list(zip(numbers, asks, strict=True)),
        plan=plan,
        level=protocol_named(study.protocol).level,
    )
