"""What a task says whose studies are reported, exported and compared."""

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
        statements: by name of a table of the bundle that only this task has, what gives its rows of a study.
    """

    report: ClassVar[str]
    statements: ClassVar[Mapping[str, str]] = {}

    def prepare(self, study: Study) -> None:
        """Work out and keep what takes long, before the report reads its moment; what is kept stays."""
        del study

    @abstractmethod
    def computation(self, study: Study) -> Computation:
        """Read all that the report depends on, inside `queries.snapshot`; what is returned computes it.

        Calling that raises:
            ValueError: labels that cannot be true.
        """

    @abstractmethod
    def tables(self, asked: Sequence[QuestionSet]) -> tuple[Table, ...]:
        """The tables of a bundle, with the answers to these questions."""

    def described(self, study: Study) -> Mapping[str, Any]:
        """What the bundle says of the study beside what it says of all."""
        del study
        return {}


class ReportedTask(TaskWithReport):
    """A task in which something is judged.

    Attributes:
        analysed: template of all that one analysis has, for the other one.
        evaluation: which published figures stand beside.
        labels_exported: statement that gives the rows of `exports.turn_files.LabelledTurn` of a study.
        read_at: name of the address where all that is judged can be read.
        read: what a link to it says.
    """

    analysed: ClassVar[str]
    evaluation: ClassVar[Evaluation]
    labels_exported: ClassVar[str]
    read_at: ClassVar[str]
    read: ClassVar[str]

    def labels(self, study: Study) -> QuerySet[Label]:
        """What people answered in the study about what is said or shown."""
        return Label.objects.filter(study=study, participation=None)

    @abstractmethod
    def protocol(self, study: Study) -> Mapping[str, str]:
        """How the study is run, beyond what all tasks have: by aspect, what a comparison says of it."""


class NothingReportedError(ValueError):
    """Such studies have no report, or nothing is judged in them."""


def with_report(study: Study) -> TaskWithReport:
    """The task of a study that has a report.

    Raises:
        NothingReportedError: it has none.
    """
    task = task_of(study)
    if not isinstance(task, TaskWithReport):
        raise NothingReportedError(f"Nothing is measured in “{study}”, so it has no report.")
    return task


def reported(study: Study) -> ReportedTask:
    """The task of a study in which something is judged.

    Raises:
        NothingReportedError: nothing is.
    """
    task = task_of(study)
    if not isinstance(task, ReportedTask):
        raise NothingReportedError(f"Nothing is judged in “{study}”, so it has no scores.")
    return task
