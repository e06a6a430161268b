"""A study as its report reads it, and all numbers of that report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evaluation.protocols import conformance, protocol_named
from evaluation.protocols.facts import Design, Talks
from evaluation.report.analysis import Analysis, AnalysisPlan
from evaluation.report.asked import AskData, ask_figures
from evaluation.report.by_turn import Exchanged, by_turn_figures
from evaluation.report.checking import check_labels
from evaluation.report.course import Course, course_figures
from evaluation.report.factors import Facets, facet_figures, normalised_figures
from evaluation.report.figures import SEED, scores_without_flagged
from evaluation.report.intervals import Terms
from evaluation.report.judged import Judged
from evaluation.report.signs import Manner, signs


@dataclass(frozen=True, eq=False)
class StudyData:
    """Everything that the numbers of a study's report depend on.

    Attributes:
        asks: everything that was asked, what the report begins with first.
        courses: by bot, how its conversations went, in the order of the bots' names.
        plan: which analysis the numbers are of, and who was excluded.
        conduct: how the study was run.
        design: which protocol it was made by, and what it asks.
        manners: by worker, how they went about it; None: no signs of fraud are looked for.
        facets: by bot, what the researcher says that it is.
        exchanged: what was measured reply by reply; None of a study whose report does not show it.
    """

    asks: Sequence[AskData]
    courses: Mapping[str, Course]
    plan: AnalysisPlan
    conduct: Talks
    manners: Mapping[str, Manner] | None = None
    facets: Facets = field(default_factory=dict)
    exchanged: Exchanged | None = None
    design: Design = field(default_factory=Design)


def study_result(study: StudyData) -> dict[str, Any]:
    """Every number and sentence of the report, ready to be stored as JSON; the same data, the same result.

    Raises:
        LabelsError: labels that cannot be; names the row and the column.
    """
    study = _in_order(study)
    first, *others = study.asks
    level = protocol_named(study.design.protocol).level
    terms, result = Terms(level), ask_figures(first, study.plan, Terms(level, margin=study.plan.margin))
    for part, counted in study.plan.parts(result, first.judged):
        part["normalised"] = normalised_figures(first.questions, counted, terms)
        part["facets"] = facet_figures(first.questions, counted, study.facets, terms)
        plan = replace(study.plan, primary=Analysis(part.get("analysis", study.plan.primary)))
        part |= by_turn_figures(study.asks, plan, study.exchanged, level)
    result["beside"] = [ask_figures(each, study.plan, terms) for each in others]
    found = signs([ask.judged for ask in study.asks], study.manners)
    for ask, figures in zip(study.asks, [result, *result["beside"]], strict=True):
        figures["flagged"] = scores_without_flagged(ask.questions, ask.judged, found, terms)
    result["course"] = course_figures(study.courses, _timed(study.asks), SEED, level)
    return result | conformance(study.design, study.conduct)


def _in_order(study: StudyData) -> StudyData:
    """The same labels in one order, checked before: an error names the row as it was given."""
    for ask in study.asks:
        check_labels(ask.questions, ask.judged)
    return replace(study, asks=[replace(ask, judged=ask.judged.in_order()) for ask in study.asks])


def _timed(asks: Sequence[AskData]) -> Judged:
    """The labels that know how long replies took: those about single ones, if there are any."""
    return next((ask.judged for ask in asks if ask.about == "partner_turn"), asks[0].judged)
