"""Interface of tasks whose studies have reports, exports and comparisons."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from django.db.models import QuerySet

from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.report.bundles.columns import Table
from turnwise.labels.models import Label
from turnwise.studies.models import Study
from turnwise.studies.tasks import StudyTask, task_of

Computation = Callable[[], dict[str, Any]]


class TaskWithReport(StudyTask):
    """A task whose studies have a report and a bundle.

    Attributes:
        report: template of the report, which extends reports/report.html.
        statements: SQL for the rows of each bundle table that only this task has, by table name.
    """

    report: ClassVar[str]
    statements: ClassVar[Mapping[str, str]] = {}

    def prepare(self, study: Study) -> None:
        """Compute and store slow results before the report opens its snapshot."""
        del study

    @abstractmethod
    def computation(self, study: Study) -> Computation:
        """Read the report's data, inside `queries.snapshot`; return a function that computes the report.

        That function raises ValueError for contradictory labels.
        """

    @abstractmethod
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        """Tables of a bundle, with columns for the answers to these question sets."""

    def described(self, study: Study) -> Mapping[str, Any]:
        """Facts about the study that only this task adds to the bundle's study.json."""
        del study
        return {}


class ReportedTask(TaskWithReport):
    """A task whose studies collect judgments.

    Attributes:
        analysed: template of one `section` of one analysis: results, differences, course, workers or quality.
        evaluation: the kind of published figures to show for comparison.
        labels_exported: SQL for the rows of `exports.turn_files.LabelledTurn` of a study.
        read_at: URL name of the page that lists everything judged.
        read: text of a link to that page.
    """

    analysed: ClassVar[str]
    evaluation: ClassVar[Evaluation]
    labels_exported: ClassVar[str]
    read_at: ClassVar[str]
    read: ClassVar[str]

    def labels(self, study: Study) -> QuerySet[Label]:
        """The study's labels about conversations or items, not about the participants themselves."""
        return Label.objects.filter(study=study, participation=None)

    @abstractmethod
    def protocol(self, study: Study) -> Mapping[str, str]:
        """Task-specific aspects of the study's protocol, by aspect, as a comparison shows them."""


class NothingReportedError(ValueError):
    """Raised for a study that has no report or collects no judgments."""


def task_with_report(study: Study) -> TaskWithReport:
    """The task of a study that has a report.

    Raises:
        NothingReportedError: the task has no report.
    """
    task = task_of(study)
    if not isinstance(task, TaskWithReport):
        raise NothingReportedError(f"Nothing is measured in “{study}”, so it has no report.")
    return task


def reported_task(study: Study) -> ReportedTask:
    """The task of a study that collects judgments.

    Raises:
        NothingReportedError: the study collects none.
    """
    task = task_of(study)
    if not isinstance(task, ReportedTask):
        raise NothingReportedError(f"Nothing is judged in “{study}”, so it has no scores.")
    return task
