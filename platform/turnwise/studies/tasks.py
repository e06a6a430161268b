"""Tasks: what people or bots do in a study.

Each task is one class, `tasks/NAME/task.py`, registered when Django starts. `StudyTask` declares what the
platform needs of every task. Higher layers need more of some tasks and declare it in classes of their own,
which these tasks inherit: `crowd.worker_task.WorkerTask`, `judging.queue.queued_task.QueuedTask`,
`turnwise.reports.report_kinds.ReportedTask`, `turnwise.rehearsals.rehearsed_task.RehearsedTask`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar

from django.db.models import Model, QuerySet
from django.urls import reverse

from turnwise.manual.pages import register_help
from turnwise.studies.asks import About, AskSpec, By
from turnwise.studies.outlook import Unit
from turnwise.studies.starting.intentions import NOBODY, Intention, Raters
from turnwise.studies.task_keys import add_key

if TYPE_CHECKING:
    from django.forms import BaseForm
    from django.utils.functional import Promise

    from turnwise.accounts.models import User
    from turnwise.bots.models import Bot
    from turnwise.studies.models import Study
    from turnwise.studies.outlook import PlannedStudy

T = TypeVar("T", bound="StudyTask")
Rows: TypeAlias = "QuerySet[Any, tuple[int, int, int]]"
"""Rows (study key and two numbers) of one task, combined with other tasks' rows in one statement."""


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A step that some studies have before their design: title, state or instruction, and address."""

    title: str
    says: str
    address: str
    is_done: bool


class Stage(StrEnum):
    """Stage of a study from design to export; its state: `turnwise.workspace.study_steps`."""

    DESIGN = "design"
    PREVIEW = "preview"
    REHEARSE = "rehearse"
    RECRUIT = "recruit"
    START = "start"  # bots alone work in it
    MONITOR = "monitor"
    JUDGE = "judge"  # in another study
    RESULTS = "results"
    EXPORT = "export"


class Share(NamedTuple):
    """Share of one person in the work that a study wants.

    Attributes:
        most: units that one person does at most.
        times: number of different people who do the same unit.
    """

    most: int = 1
    times: int = 1


class Plan(Protocol):
    """A row of a task's own table, one for each of its studies."""

    study: Any

    def full_clean(self) -> None: ...

    def save(self) -> None: ...


class EditingPage(Protocol):
    """The forms of one task, as the pages for new and edited studies use them: `studies.forms.StudyPage`.

    Attributes:
        template: template of the page.
        study_form: form of the study itself.
    """

    template: ClassVar[str]
    study_form: ClassVar[Any]

    def __init__(self, user: "User", study: "Study", data: Any = None) -> None: ...

    @property
    def form(self) -> "BaseForm":
        """The form about the study itself."""

    def is_valid(self) -> bool: ...

    def study(self) -> "Study": ...

    def consent_text(self) -> str: ...

    def targets(self) -> "Mapping[Bot, int]": ...

    def every_ask(self) -> Sequence[AskSpec]: ...

    def plan(self) -> Plan | None: ...

    def template_context(self) -> dict[str, Any]: ...


class StudyTask(ABC):
    """One task.

    Attributes:
        key: as studies store it, and in addresses.
        title: name of the task in lists of protocols.
        menu: short name on the page of a new study.
        order: place among the tasks on that page, from 1; the first is the default.
        intentions: what it serves as a design of one's own; the first page of a new study offers it there.
        form: the forms with which such a study is made and edited.
        overview: template of the study's own page, which extends workspace/overview.html.
        has_conversations: whether its studies hold conversations, which others can judge.
        has_workers: whether people do it, with consent.
        has_rehearsals: whether simulated workers can do it.
        together: how many people do it with each other.
        can_recur: whether the same person may take part in a study more than once.
        takes_stopping_rule: whether such a study can have a rule that closes it.
        manual: page of the manual that explains it.
        namespace: namespace of the addresses of its pages.
        stages: the stages of its studies, in order; `REHEARSE` only if it has rehearsals.
        asks: default asks of a new study; empty if it asks nothing.
        may_ask: possible respondents and subjects of its asks, apart from asks about the people themselves.
        entry_points: other beginnings of such a study than its design, in a few words, for the page of a new
            study.
        unit: what its progress counts.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    menu: ClassVar[str]
    order: ClassVar[int]
    intentions: ClassVar[tuple[Intention, ...]]
    form: ClassVar[type[EditingPage]]
    overview: ClassVar[str]
    manual: ClassVar[str]
    namespace: ClassVar[str]
    stages: ClassVar[tuple[Stage, ...]]
    has_conversations: ClassVar[bool] = False
    has_workers: ClassVar[bool] = False
    has_rehearsals: ClassVar[bool] = False
    together: ClassVar[int] = 1
    can_recur: ClassVar[bool] = False
    takes_stopping_rule: ClassVar[bool] = False
    asks: ClassVar[tuple[AskSpec, ...]] = ()
    may_ask: ClassVar[frozenset[tuple[By, About]]] = frozenset()
    entry_points: ClassVar[Mapping[str, "str | Promise"]] = {}
    unit: ClassVar[Unit] = Unit.CONVERSATION

    @property
    def every_ask(self) -> frozenset[tuple[By, About]]:
        """`may_ask`, plus asks about the people themselves if people take part."""
        return self.may_ask | ({(By.EVERYBODY, About.PERSON)} if self.has_workers else frozenset())

    @abstractmethod
    def why_not_open(self, study: "Study") -> str:
        """Explain what such a study lacks before it can be opened, and what to do; empty if it is ready."""

    def designed_at(self, study: "Study") -> str:
        """The address where what such a study lacks is given."""
        return reverse("studies:edit", args=[study.pk])

    def first_page(self, study: "Study", way: str, by: str = "") -> str:
        """Address of the first page after such a study was created.

        Args:
            study: the new study.
            way: the one of its `entry_points` by which it began; empty: its design.
            by: key of the `raters` that were chosen; empty: none were.
        """
        return study.get_absolute_url()

    def raters(self, asks: Sequence[AskSpec]) -> Sequence[Raters]:
        """Who can do the work of a study with these asks, in the order of the page of a new study."""
        return (NOBODY,)

    def recruit(self, study: "Study", by: str) -> None:
        """Hook: a new study was saved in this transaction; store by which of the `raters` it is done."""
        return

    def chosen_material(self, user: "User", sent: Mapping[str, str]) -> Sequence[object]:
        """What the address of a new study's form chose to be worked on, of what the user may use."""
        return ()

    def fill(self, study: "Study", material: Sequence[Any]) -> None:
        """Hook: a new study was saved in this transaction; add the chosen material to it.

        Raises:
            ValidationError: the study cannot have it.
        """
        return

    def first_steps(self, study: "Study") -> "Sequence[SetupStep]":
        """Steps before the design, for a study that starts with an import or the like."""
        return ()

    def takes_bots(self, study: "Study") -> bool:
        """True if such a study wants conversations of bots with people."""
        return False

    def holds(self, study: "Study") -> Mapping[str, int]:
        """Number of `items` in its queue or of its `contexts`; empty without either."""
        return {}

    @abstractmethod
    def completed_and_planned(self, studies: "QuerySet[Study]") -> Rows:
        """Rows of study key, completed units and planned units."""

    def shares(self, studies: "QuerySet[Study]") -> Rows:
        """Rows of study key and the `Share` of one person; a missing study means one unit at a time."""
        return studies.none().values_list("pk", "pk", "pk")

    def planned(
        self, study: "Study | None", sent: Mapping[str, str], wanted: Sequence[int]
    ) -> "PlannedStudy | None":
        """Size of a study that is being planned; None if its form does not determine it.

        Args:
            study: as it is stored; None for a new study.
            sent: values of the task's own form fields, by name.
            wanted: conversations with each bot that is chosen.
        """
        return None

    def why_none_can_come(self, study: "Study") -> str:
        """Recruitment problems of such a study, and what to do; empty if there are none."""
        return ""

    def bots_to_try(self, study: "Study") -> "list[Bot]":
        """Bots that the work needs; they are greeted before such a study is opened."""
        return []

    def is_blind(self, study: "Study") -> bool:
        """True if workers must not learn which bot wrote a turn."""
        return False

    def opened(self, study: "Study") -> None:
        """Hook: such a study was opened in this transaction."""
        return

    def asks_changed(self, study: "Study") -> None:
        """Hook: the asks of such a draft were changed in this transaction."""
        return

    def pilot_over(self, study: "Study") -> None:
        """Hook: the pilot ended in this transaction; release the pilot's work to other workers."""
        return

    def make_demo(self, owner: "User") -> None:
        """Create the demo study of this task, if it has one."""
        return

    def plan_of_copy(self, study: "Study") -> Plan | None:
        """Unsaved plan for a copy of such a study."""
        return None

    def copied_into(self, study: "Study", copy: "Study") -> None:
        """Hook: a study was copied in this transaction; copy its items or contexts."""
        return

    def overview_context(self, study: "Study") -> Mapping[str, Any]:
        """Additional context of the study's own page."""
        return {}


_TASKS: dict[str, StudyTask] = {}


def register(task: type[T]) -> type[T]:
    """Register a task.

    Raises:
        TypeError: the class leaves out something that a task has, such as its intentions.
        ValueError: the manual has no page of the name that the class gives.
    """
    declared = {name for base in task.__mro__ for name in getattr(base, "__annotations__", ())}
    if missing := sorted(name for name in declared if not hasattr(task, name)):
        raise TypeError(f"{task.__name__} lacks {', '.join(missing)}. Its base classes explain them.")
    register_help(task.manual, namespace=task.namespace)
    _TASKS[task.key] = task()
    add_key(task.key, task.order)
    return task


def tasks() -> list[StudyTask]:
    """All tasks in their order."""
    return sorted(_TASKS.values(), key=lambda task: task.order)


def task_of(study: "Study") -> StudyTask:
    """The task of a study."""
    return _TASKS[study.task]


def task_named(key: str) -> StudyTask:
    """The task with this key; the first one if none has it."""
    return _TASKS.get(key) or tasks()[0]


def copied_row(row: Model | None) -> Any:
    """Unsaved copy of a plan for another study; None if there is no plan."""
    if row is None:
        return None
    fields = [f for f in row._meta.concrete_fields if f.editable and not f.primary_key and f.name != "study"]
    return type(row)(**{field.name: getattr(row, field.name) for field in fields})


def keys_with_conversations() -> list[str]:
    """The keys of all tasks whose studies hold conversations."""
    return [task.key for task in tasks() if task.has_conversations]


def keys_with_stopping_rule() -> list[str]:
    """The keys of all tasks whose studies can have a rule that closes them."""
    return [task.key for task in tasks() if task.takes_stopping_rule]


def keys_of(kind: type[object]) -> list[str]:
    """The keys of all tasks of a kind, for queries."""
    return [task.key for task in tasks() if isinstance(task, kind)]
