"""The work of a study as who makes it tries it: the workers' own page, and nothing is stored.

In place of the work's socket that of the preview answers (`preview_socket`): by the same rules, out of a
memory that ends with the tab.

What workers do in a study: its pages, and whether anything is left for somebody new.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
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
from turnwise.crowd.panels import study_panels
from turnwise.crowd.places.reservation import HOLD, bots_admitting
from turnwise.live.frames import Frame, RefusedError
from turnwise.studies.models import Study
from turnwise.studies.tasks import Stage, StudyTask, task_of

EXAMPLE_CODE = "EXAMPLE-CODE"

FrameAnswers = Callable[[Frame], AsyncIterator[Frame]]


@dataclass(frozen=True, slots=True)
class PreviewOptions:
    """How somebody wants to see the pages.

    Attributes:
        language: of the study's.
        bot: key of the study's bot that is really asked; None: replies are scripted.
        panel: key of the `StudyPanel` by which the worker came; None: by the plain link.
    """

    language: str
    bot: int | None = None
    panel: int | None = None

    @classmethod
    def of(cls, query: QueryDict, study: Study, *, language: str = "language") -> "PreviewOptions":
        """What a query asks for; whatever the study does not have is left out.

        Args:
            query: with these names and texts.
            study: whose pages they are.
            language: the name under which it has that.
        """
        wanted = query.get(language, "")
        return cls(
            wanted if wanted in study.languages else (study.languages or ["en"])[0],
            _number(query.get("bot")),
            _number(query.get("panel")),
        )

    @property
    def query(self) -> dict[str, str]:
        told = {"language": self.language, "bot": self.bot, "panel": self.panel}
        return {name: str(value) for name, value in told.items() if value}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


class WorkPreview(ABC):
    """The work of a study as one tab tries it: what its pages are given, and what their socket answers.

    Attributes:
        pages: of the work, in their order: the title by the key.
        then: where it leads when it is over.
    """

    pages: ClassVar[Mapping[str, str | Promise]] = {"work": gettext_lazy("The work")}

    def __init__(self, study: Study, page: str, wishes: PreviewOptions, *, then: str) -> None:
        self.study = study
        self.key = page
        self.wishes = wishes
        self.language = wishes.language
        self.then = then

    @classmethod
    def pages_of(cls, study: Study) -> Mapping[str, str | Promise]:
        """Those that a study has."""
        return cls.pages

    @property
    def socket(self) -> str:
        """Where the page connects to."""
        query = {"page": self.key, "shown_in": self.language, **self.wishes.query}
        return f"/ws/previews/{self.study.pk}/?{urlencode(query)}"

    @property
    def name(self) -> str:
        """Under which the browser keeps what is not saved yet."""
        return f"preview.{self.study.pk}.{self.key}"

    @abstractmethod
    def template_and_context(self) -> tuple[str, dict[str, Any]]:
        """The template of the page, and what it is given."""

    @abstractmethod
    def begin(self) -> AsyncIterator[Frame]:
        """What a tab is told when it has connected."""

    @abstractmethod
    def answers(self) -> Mapping[str, FrameAnswers]:
        """What each type of frame is answered with. They raise `RefusedError` as the work itself does."""


class ItemsPreview(WorkPreview):
    """Work on a few items, over once all of them are done.

    Attributes:
        items: as the page gets them.
        done: by key of an item, what was made of it.
        undone: reason and sentence for whoever wants to be over before.
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
        """The items that are still to be done, and those that are, as the page reads them."""

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
    """A task that workers do, from the study link to the completion code.

    Attributes:
        begin: name of the address to which they POST in order to begin.
        go_on: name of the address where they go on.
        heading: of the first page: what they will do.
        welcome: template of what they read there before they agree.
        instructions: template of the page after it, which extends crowd/instructions.html.
        saved: said at the end, with the completion code.
        previewed: the work as who makes such a study tries it.
        needs_bots: whether nobody can begin while none of its bots answers.
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
    def copied_into(self, study: Study, copy: Study) -> None:
        study_panels.copy_panels(study, copy)

    @abstractmethod
    def is_full(self, study: Study, now: datetime) -> bool:
        """Whether nothing is left for somebody who comes at that time: said before they consent in vain."""

    def trains(self, study: Study) -> bool:
        """Whether its workers have to pass training questions, so that they need not practise before."""
        return False


def work_of(study: Study) -> WorkerTask:
    """The task of a study as its workers do it.

    Raises:
        EntryRefusedError: no worker takes part in such a study.
    """
    task = task_of(study)
    if not isinstance(task, WorkerTask):
        raise refusals.unknown_study()
    return task


def are_bots_unavailable(study: Study) -> bool:
    """Whether none of the bots that somebody new could get would answer now, or all are switched off."""
    task = work_of(study)
    return task.needs_bots and not bots_admitting(task.bots_to_try(study), now=timezone.now())


def is_full(study: Study, *, now: datetime | None = None) -> bool:
    return work_of(study).is_full(study, now or timezone.now())


def may_become_free(study: Study, *, now: datetime | None = None) -> bool:
    """Whether a full study would have a place in an hour if nobody who is at it went on."""
    return not is_full(study, now=(now or timezone.now()) + HOLD)
