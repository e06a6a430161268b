"""The one way from a study's data to the numbers of its report."""

from collections.abc import Callable
from functools import partial
from typing import Any

from evaluation.questions import question_set
from evaluation.report.figures import scored
from evaluation.report.judging import judging_figures
from evaluation.report.study import study_result
from reports import queries
from reports.judging_queries import judged_items
from studies.models import Study, Task


def computation(study: Study) -> Callable[[], dict[str, Any]]:
    """Read all that the report depends on, inside `queries.snapshot`; what is returned computes it.

    Calling that raises:
        ValueError: labels that cannot be true.
    """
    if study.task != Task.JUDGING:
        return partial(study_result, queries.study_data(study))
    questions = question_set(study.question_set)
    items = judged_items(study, questions, [question.key for question in scored(questions)])
    return partial(judging_figures, questions, items, set_aside=queries.set_aside(study))
