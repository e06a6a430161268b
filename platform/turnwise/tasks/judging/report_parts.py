"""Parts that a report of judging or pairs has beside its figures: help by machine judges, and anchors."""

from collections.abc import Sequence
from typing import Any

from evaluation.protocols import protocol_named
from evaluation.report.assisted import JudgeLabels, assisted_figures
from evaluation.report.bundles.anchor_rows import AnchorRows
from evaluation.report.label_columns import AnalysisPlan
from evaluation.report.studies.judging import AskOfItems
from turnwise.judges.judged_labels import labels_for_report
from turnwise.judges.queries import reported_runs
from turnwise.judging.asks import asks_of_readers
from turnwise.reports.report_kinds import Computation
from turnwise.studies.models import Study


def labels_of_judges(study: Study) -> list[JudgeLabels]:
    """Labels of people and of each judge with a complete run; empty without one."""
    found = [labels for run in reported_runs(study) if (labels := labels_for_report(run)).outcomes]
    return sorted(found, key=lambda each: each.ask)


def with_assisted(of_people: Computation, judges: list[JudgeLabels], protocol: str) -> dict[str, Any]:
    """Compute the report of people, unchanged, and `assisted` beside it."""
    level = protocol_named(protocol).level
    return {**of_people(), "assisted": assisted_figures(judges, level=level)}


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
