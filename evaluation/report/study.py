"""A study as its report reads it, and all numbers of that report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.questions import QuestionSet
from evaluation.report.conformance import Conduct, deviations
from evaluation.report.course import Course, course_figures
from evaluation.report.figures import SEED, study_figures
from evaluation.report.judged import Judged


@dataclass(frozen=True, eq=False)
class StudyData:
    """Everything that the numbers of a study's report depend on.

    Attributes:
        questions: what was asked.
        judged: the labels of finished conversations.
        courses: by bot, how its conversations went, in the order of the bots' names.
        set_aside: by worker whom an admin has set aside, the reason.
        conduct: how the study was run.
    """

    questions: QuestionSet
    judged: Judged
    courses: Mapping[str, Course]
    set_aside: Mapping[str, str]
    conduct: Conduct


def study_result(study: StudyData) -> dict[str, Any]:
    """Every number and sentence of the report, ready to be stored as JSON; the same data, the same result.

    Raises:
        LabelsError: labels that cannot be true; names row and column.
        ValueError: a label without an answer.
    """
    result = study_figures(study.questions, study.judged, set_aside=study.set_aside)
    result["course"] = course_figures(study.courses, study.judged, SEED)
    result["deviations"] = deviations(study.conduct)
    return result
