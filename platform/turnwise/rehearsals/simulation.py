"""Base of the simulated workers of all tasks. They use the same pages and sockets as people."""

import asyncio
import re
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar

from turnwise.rehearsals.injected_effects import Answers, Kind
from turnwise.rehearsals.page_visitor import PageError, Visitor
from turnwise.rehearsals.simulated_worker import Conversation, MismatchError, SelfReports, open_work_page

# HTTP status for workers who arrive when no work is left.
NOTHING_LEFT = 409


@dataclass
class Work:
    """Result of one worker.

    Attributes:
        kind: kind of the worker.
        code: resume code, which identifies the participation.
        work_id: conversation, batch or writing place that they got; empty if no work was left.
        system: the bot that they talked with, as the report calls it; empty for readers.
        labels: final answers by name of the judged thing.
        further_labels: the same for each further ask of the study, in its order.
        second_labels: answers by name of a thing that was judged a second time.
        texts: final texts by position or context.
        pictures: number of pictures that they sent with messages.
        finished: they did all of their work.
        gave_up: they ended a conversation because the bot could not answer.
        was_left: they ended a conversation because the partner had left.
        waited_in_vain: no partner came.
    """

    kind: Kind
    code: str = ""
    work_id: str = ""
    system: str = ""
    labels: dict[str, Answers] = field(default_factory=dict)
    further_labels: list[dict[str, Answers]] = field(default_factory=list)
    second_labels: dict[str, Answers] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    pictures: int = 0
    finished: bool = False
    gave_up: bool = False
    was_left: bool = False
    waited_in_vain: bool = False


@dataclass
class SimulatedWorker(ABC):
    """A simulated worker who takes part once.

    Attributes:
        says_when_leaving: leaving workers use the page for it; otherwise they close the tab.
        may_come_in_vain: the study may have no work left for a worker.
        number: number of the worker, which decides details such as their texts.
        kind: kind of the worker.
        server, link: address of the server and path of the study link.
        language: language that they read, if the study has several.
        people: answers to questionnaires about themselves.
    """

    says_when_leaving: ClassVar[bool] = False
    may_come_in_vain: ClassVar[bool] = False

    number: int
    kind: Kind
    server: str
    link: str
    language: str = field(default="", kw_only=True)
    people: SelfReports = field(default_factory=SelfReports, kw_only=True)

    async def work(self) -> Work:
        """Take part from the study link to the completion code, or as far as this kind of worker goes.

        Raises:
            MismatchError, PageError: the server refused a correct step.
        """
        try:
            return await self._take_part()
        except PageError as error:
            if self.may_come_in_vain and error.status == NOTHING_LEFT:
                return Work(self.kind)
            raise

    async def _take_part(self) -> Work:
        done = Work(self.kind)
        visitor, settings = await asyncio.to_thread(
            open_work_page,
            self.server,
            self.link,
            people=self.people,
            number=self.number,
            language=self.language,
        )
        done.code = visitor.page.values.get("resume-code", "")
        settings = await self.open_work(visitor, settings, done)
        if not settings:
            return done
        async with AsyncExitStack() as opened:
            tabs = [
                await opened.enter_async_context(Conversation(visitor, settings))
                for _ in range(2 if self.kind is Kind.TWO_TABS else 1)
            ]
            thanks = await self.do_work(tabs, settings, done)
        if thanks:
            await asyncio.to_thread(self._take_code, visitor, thanks)
            done.finished = not done.was_left
        elif self.says_when_leaving and self.kind is Kind.LEAVING:
            await asyncio.to_thread(self._leave, visitor)
        return done

    async def open_work(self, visitor: Visitor, settings: dict[str, Any], done: Work) -> dict[str, Any]:
        """Go from the page after the instructions to the work page; returns its settings, empty if none."""
        del visitor, done
        return settings

    def _leave(self, visitor: Visitor) -> None:
        page = visitor.get(f"{self.link}leave/")
        visitor.submit(page, page.form("leave/"))

    def _take_code(self, visitor: Visitor, thanks: str) -> None:
        page = self.people.answer_page(visitor, visitor.get(thanks), self.number)
        if not re.fullmatch(r"\w{8}", page.values.get("completion-code", "")):
            raise MismatchError(f"The page {page.address} shows no completion code.")

    @abstractmethod
    async def do_work(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        """Do the work of the page with these settings; returns the next page, empty after leaving."""


async def end_conversation(conversation: Conversation, how: str) -> str:
    """End the conversation and return the next page; earlier states and failures may still arrive first."""
    await conversation.send(type=how)
    while True:
        frame = await conversation.receive("state", "bot_failed")
        if frame.get("finished"):
            thanks: str = frame["finished"]
            return thanks
