"""What a study has people or bots do: its task.

Each task is one class in a folder of its own, `tasks/NAME/task.py`, registered when Django starts. What the
platform asks of every task stands here. A layer that asks more of some tasks declares it in a class of its
own, which these inherit: `crowd.worker_task.WorkerTask`, `judging.queue.queued_task.QueuedTask`,
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
"""What a task says of many studies, read in one statement with what others say: a key and two numbers."""


@dataclass(frozen=True, slots=True)
class SetupStep:
    """A step of the way of some studies: a word, how it stands or what to do, and where it is done."""

    title: str
    says: str
    address: str
    is_done: bool


class Stage(StrEnum):
    """A step of a study's way; how it stands: `turnwise.workspace.study_steps`."""

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
    """What one person does of all that a study wants.

    Attributes:
        most: so much.
        times: by how many different people the same is done.
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
        template: of the page.
    """

    template: ClassVar[str]

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

    def shown(self) -> dict[str, Any]: ...


class StudyTask(ABC):
    """One task.

    Attributes:
        key: as studies store it, and in addresses.
        title: what it is, as lists of protocols say it.
        menu: the same in a few words, for the page of a new study.
        order: among the tasks on that page, from 1; a new study has the first one if nobody says otherwise.
        form: the forms with which such a study is made and edited.
        overview: template of the study's own page, which extends workspace/overview.html.
        has_conversations: whether its studies hold conversations, which others can judge.
        has_workers: whether people do it, who agree to it before.
        has_rehearsals: whether simulated workers can do it.
        together: how many people do it with each other.
        can_recur: whether the same person may take part in a study more than once.
        manual: page of the manual that explains it.
        namespace: of the addresses of its pages.
        stages: the steps of its studies, in their order; `REHEARSE` only where that can be done.
        asks: what a new study asks unless somebody chooses otherwise; empty if it asks nothing.
        may_ask: whom such a study can ask, and about what that is said or shown.
        entry_points: other beginnings of such a study than its design, in a few words, for the page of a new study.
        unit: what is counted of how far such a study is.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    menu: ClassVar[str]
    order: ClassVar[int]
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
    asks: ClassVar[tuple[AskSpec, ...]] = ()
    may_ask: ClassVar[frozenset[tuple[By, About]]] = frozenset()
    entry_points: ClassVar[Mapping[str, "str | Promise"]] = {}
    unit: ClassVar[Unit] = Unit.CONVERSATION

    @property
    def every_ask(self) -> frozenset[tuple[By, About]]:
        """`may_ask`, and of everybody about themselves where people take part."""
        return self.may_ask | ({(By.EVERYBODY, About.PERSON)} if self.has_workers else frozenset())

    @abstractmethod
    def why_not_open(self, study: "Study") -> str:
        """What such a study lacks before it can be opened, and what to do; empty if it is ready."""

    def designed_at(self, study: "Study") -> str:
        """The address where what such a study lacks is given."""
        return reverse("studies:edit", args=[study.pk])

    def first_page(self, study: "Study", way: str) -> str:
        """Such a study was just made, to go one of its `entry_points`, or none: the address where one goes on."""
        return study.get_absolute_url()

    def first_steps(self, study: "Study") -> "Sequence[SetupStep]":
        """What comes before its design is looked at again, if its way begins so."""
        return ()

    def takes_bots(self, study: "Study") -> bool:
        """Whether conversations of bots with people are wanted in such a study."""
        return False

    def holds(self, study: "Study") -> Mapping[str, int]:
        """What its people are given one by one: `items` of a queue or `contexts`, and how many there are."""
        return {}

    @abstractmethod
    def finished_and_wanted(self, studies: "QuerySet[Study]") -> Rows:
        """Of each of these studies its key, how much is done, and how much is wanted."""

    def shares(self, studies: "QuerySet[Study]") -> Rows:
        """Of each of these studies its key and the `Share` of one person; absent: one at a time."""
        return studies.none().values_list("pk", "pk", "pk")

    def planned(
        self, study: "Study | None", sent: Mapping[str, str], wanted: Sequence[int]
    ) -> "PlannedStudy | None":
        """What a study that is being planned takes; None: its form does not tell.

        Args:
            study: as it is stored; None of a new one.
            sent: what its form says beside what all forms have, by the names of its fields.
            wanted: conversations with each bot that is chosen.
        """
        return None

    def why_none_can_come(self, study: "Study") -> str:
        """What is wrong with where such a study takes its people from, and what to do; empty: nothing."""
        return ""

    def bots_to_try(self, study: "Study") -> "list[Bot]":
        """The bots without which nobody can do it: greeted before such a study is opened."""
        return []

    def is_blind(self, study: "Study") -> bool:
        """Whether its workers are not to learn which bot said what."""
        return False

    def opened(self, study: "Study") -> None:
        """Such a study was opened, in this transaction: begin what has to be begun."""
        return

    def asks_changed(self, study: "Study") -> None:
        """What such a draft asks was changed, in this transaction: change what rests on it."""
        return

    def pilot_over(self, study: "Study") -> None:
        """Such a study went on from its pilot, in this transaction: have others do what its people took."""
        return

    def make_demo(self, owner: "User") -> None:
        """Make the study of this task that a fresh installation starts with, if it has one."""
        return

    def plan_of_copy(self, study: "Study") -> Plan | None:
        """What a copy of such a study stores beside it, not saved yet."""
        return None

    def copied_into(self, study: "Study", copy: "Study") -> None:
        """A study was copied, in this transaction: give the copy what is worked on in it."""
        return

    def shown(self, study: "Study") -> Mapping[str, Any]:
        """What the study's own page shows, beyond what all do."""
        return {}


_TASKS: dict[str, StudyTask] = {}


def register(task: type[T]) -> type[T]:
    """Have studies of this task.

    Raises:
        TypeError: the class leaves out something that a task has.
        ValueError: the manual has no page of the name that the class gives.
    """
    declared = {name for base in task.__mro__ for name in getattr(base, "__annotations__", ())}
    if missing := sorted(name for name in declared if not hasattr(task, name)):
        raise TypeError(f"{task.__name__} does not say its {', '.join(missing)}.")
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
    """A plan with the same settings for another study, not saved yet; None of none."""
    if row is None:
        return None
    fields = [f for f in row._meta.concrete_fields if f.editable and not f.primary_key and f.name != "study"]
    return type(row)(**{field.name: getattr(row, field.name) for field in fields})


def keys_with_conversations() -> list[str]:
    """The keys of all tasks whose studies hold conversations."""
    return [task.key for task in tasks() if task.has_conversations]


def keys_of(kind: type[object]) -> list[str]:
    """The keys of all tasks of a kind, for queries."""
    return [task.key for task in tasks() if isinstance(task, kind)]
