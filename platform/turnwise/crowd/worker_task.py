"""Base classes of tasks done by workers, and of the preview in which a researcher tries the work.

A preview shows the workers' own page and stores nothing: in place of the work's socket, `preview`
answers by the same rules, from memory that ends with the tab.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.crowd import refusals
from turnwise.crowd.panels import panels, study_panels
from turnwise.crowd.places.reservation import HOLD, bots_admitting
from turnwise.languages.live_texts import live_language
from turnwise.live.frames import Frame, RefusedError
from turnwise.studies.asks import AskSpec
from turnwise.studies.conditions.factors import Condition, conditions_of
from turnwise.studies.models import Study
from turnwise.studies.starting.intentions import Raters
from turnwise.studies.tasks import Stage, StudyTask, task_of

EXAMPLE_CODE = "EXAMPLE-CODE"

FrameAnswers = Callable[[Frame], AsyncIterator[Frame]]


@dataclass(frozen=True, slots=True)
class PreviewOptions:
    """Options chosen for a preview.

    Attributes:
        language: one of the study's languages, or one that is translated in the product.
        bot: key of the bot that answers; None for scripted replies.
        panel: key of the `StudyPanel` by which the worker arrives; None for the plain link.
        condition: number of the worker's condition in a study with factors, from 1; None for the first.
    """

    language: str
    bot: int | None = None
    panel: int | None = None
    condition: int | None = None

    @classmethod
    def of(cls, query: QueryDict, study: Study, *, language: str = "language") -> "PreviewOptions":
        """Read the options from a query string, ignoring values that the study does not have.

        Args:
            query: the query string.
            study: the study that is previewed.
            language: name of the parameter with the language.
        """
        requested = query.get(language, "")
        return cls(
            requested
            if requested in study.languages or (requested and live_language(requested))
            else (study.languages or ["en"])[0],
            _number(query.get("bot")),
            _number(query.get("panel")),
            _number(query.get("condition")),
        )

    @property
    def query(self) -> dict[str, str]:
        values = {
            "language": self.language,
            "bot": self.bot,
            "panel": self.panel,
            "condition": self.condition,
        }
        return {name: str(value) for name, value in values.items() if value}

    def condition_in(self, study: Study) -> Condition:
        """The condition in this study; the first for a number that it does not have."""
        every, number = list(conditions_of(study.factors)), self.condition or 1
        return every[number - 1 if number <= len(every) else 0]


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


class WorkPreview(ABC):
    """Preview of a study's work in one tab: the contexts of its pages and the answers of its socket.

    Attributes:
        pages: titles of the work's pages by key, in order.
        then: address after the end of the work.
    """

    pages: ClassVar[Mapping[str, str | Promise]] = {"work": gettext_lazy("The work")}

    def __init__(self, study: Study, page: str, options: PreviewOptions, *, then: str) -> None:
        self.study = study
        self.key = page
        self.options = options
        self.language = options.language
        self.then = then

    @classmethod
    def pages_of(cls, study: Study) -> Mapping[str, str | Promise]:
        """Pages of the work in this study."""
        return cls.pages

    @property
    def socket(self) -> str:
        """Address of the preview's socket."""
        query = {"page": self.key, "shown_in": self.language, **self.options.query}
        return f"/ws/previews/{self.study.pk}/?{urlencode(query)}"

    @property
    def name(self) -> str:
        """Key under which the browser keeps unsaved work."""
        return f"preview.{self.study.pk}.{self.key}"

    @abstractmethod
    def template_and_context(self) -> tuple[str, dict[str, Any]]:
        """Template of the page and its context."""

    @abstractmethod
    def begin(self) -> AsyncIterator[Frame]:
        """Frames to send when a tab has connected."""

    @abstractmethod
    def answers(self) -> Mapping[str, FrameAnswers]:
        """Handlers by frame type. They raise `RefusedError` as in the real work."""


class ItemsPreview(WorkPreview):
    """Preview of work on a few items, which ends when all of them are done.

    Attributes:
        items: items in the form sent to the page.
        done: result by key of the item.
        undone: reason and sentence of the refusal to finish early.
    """

    undone: ClassVar[tuple[str, str | Promise]]

    @override
    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.items: list[dict[str, Any]] = []
        self.done: dict[str, Any] = {}
        self.is_over = False

    @property
    def progress(self) -> dict[str, object]:
        done, size = len(self.done), len(self.items)
        return {"done": done, "size": size, "may_finish": done >= size}

    @abstractmethod
    def items_frame(self) -> Frame:
        """Items to do and items done, as part of the state frame."""

    def state(self) -> Frame:
        finished = self.then if self.is_over else None
        return {"type": "state", **self.items_frame(), "progress": self.progress, "finished": finished}

    @override
    async def begin(self) -> AsyncIterator[Frame]:
        yield self.state()

    async def finish(self, frame: Frame) -> AsyncIterator[Frame]:
        if not self.progress["may_finish"]:
            raise RefusedError(*self.undone)
        self.is_over = True
        yield self.state()


class WorkerTask(StudyTask):
    """Task done by workers, from the study link to the completion code.

    Attributes:
        begin: URL name that starts the work, by POST.
        go_on: URL name where the work continues.
        heading: heading of the first page: what workers will do.
        welcome: template of the text on the first page, before consent.
        instructions: template of the instructions; it extends crowd/instructions.html.
        saved: text of the last page, shown with the completion code.
        previewed: class of the preview of the work.
        needs_bots: True if workers can start only while one of the study's bots is available.
    """

    has_workers = True
    stages: ClassVar[tuple[Stage, ...]] = (
        Stage.DESIGN, Stage.PREVIEW, Stage.REHEARSE, Stage.RECRUIT, Stage.MONITOR, Stage.RESULTS,
        Stage.EXPORT,
    )  # fmt: skip

    begin: ClassVar[str]
    go_on: ClassVar[str]
    heading: ClassVar[str | Promise]
    welcome: ClassVar[str]
    instructions: ClassVar[str]
    saved: ClassVar[str | Promise]
    previewed: ClassVar[type[WorkPreview]]
    needs_bots: ClassVar[bool] = False

    @override
    def why_none_can_come(self, study: Study) -> str:
        return study_panels.setup_problems(study)

    @override
    def raters(self, asks: Sequence[AskSpec]) -> Sequence[Raters]:
        return [Raters(each.key, each.title, each.brings, are_paid=each.is_paid) for each in panels()]

    @override
    def recruit(self, study: Study, by: str) -> None:
        study_panels.recruit_by(study, by)

    @override
    def copied_into(self, study: Study, copy: Study) -> None:
        study_panels.copy_panels(study, copy)

    @abstractmethod
    def is_full(self, study: Study, now: datetime) -> bool:
        """True if there is no work for a new worker at that time; checked before consent."""

    def trains(self, study: Study) -> bool:
        """True if workers must pass training questions, which replace the practice."""
        return False


def work_of(study: Study) -> WorkerTask:
    """Worker task of a study.

    Raises:
        EntryRefusedError: the study has no workers.
    """
    task = task_of(study)
    if not isinstance(task, WorkerTask):
        raise refusals.unknown_study()
    return task


def are_bots_unavailable(study: Study) -> bool:
    """True if the study needs bots and none of them can take a new conversation now."""
    task = work_of(study)
    return task.needs_bots and not bots_admitting(task.bots_to_try(study), now=timezone.now())


def is_full(study: Study, *, now: datetime | None = None) -> bool:
    return work_of(study).is_full(study, now or timezone.now())


def may_become_free(study: Study, *, now: datetime | None = None) -> bool:
    """True if a full study would have a place in an hour if all active workers stopped now."""
    return not is_full(study, now=(now or timezone.now()) + HOLD)
