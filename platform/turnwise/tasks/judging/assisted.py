"""The part of a report of judging or pairs in which machine judges assist people."""

from typing import Any

from evaluation.protocols import protocol_named
from evaluation.report.assisted import JudgeLabels, assisted_figures
from turnwise.judges.judged_labels import labels_for_report
from turnwise.judges.queries import reported_runs
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
