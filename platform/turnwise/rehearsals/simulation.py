"""What simulated workers of all studies have in common. They use what people use: pages and sockets."""

import asyncio
import re
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar

from turnwise.rehearsals.injected_effects import Answers, Kind
from turnwise.rehearsals.page_visitor import PageError, Visitor
from turnwise.rehearsals.simulated_worker import Conversation, MismatchError, People, enter

# What the server says to those who come when nothing is left for them.
NOTHING_LEFT = 409


@dataclass
class Work:
    """What came of one worker.

    Attributes:
        kind: how they worked.
        code: their resume code, by which the study knows them.
        given: which conversation, batch or place to write they got; empty if there was nothing for them.
        system: the bot that they talked with, as the report calls it; empty for those who judge.
        labels: by name of what they judged, what they answered last.
        beside: the same of each further ask of the study, in its order.
        again: by name of what they judged a second time, what they answered then.
        said: by name of where they said it, what they wrote last.
        finished: whether they did all of their work.
        gave_up: whether they ended a conversation because the bot could not answer.
        was_left: whether they ended a conversation because the other one had left.
        waited_in_vain: whether nobody came to talk with them.
    """

    kind: Kind
    code: str = ""
    given: str = ""
    system: str = ""
    labels: dict[str, Answers] = field(default_factory=dict)
    beside: list[dict[str, Answers]] = field(default_factory=list)
    again: dict[str, Answers] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    finished: bool = False
    gave_up: bool = False
    was_left: bool = False
    waited_in_vain: bool = False


@dataclass
class SimulatedWorker(ABC):
    """Someone who takes part once.

    Attributes:
        says_when_leaving: whether who leaves does so by the page for it; else they close the tab.
        may_come_in_vain: whether the study may have nothing left for them.
        number: tells workers apart; it decides small things, such as what they say.
        kind: how they work.
        server, link: where the study is.
        language: which they read, of a study with several.
        people: what the study asks about them.
    """

    says_when_leaving: ClassVar[bool] = False
    may_come_in_vain: ClassVar[bool] = False

    number: int
    kind: Kind
    server: str
    link: str
    language: str = field(default="", kw_only=True)
    people: People = field(default_factory=People, kw_only=True)

    async def work(self) -> Work:
        """From the link to the completion code, or as far as this kind of worker goes.

        Raises:
            MismatchError, PageError: the server refused what it should have taken.
        """
        try:
            return await self._worked()
        except PageError as error:
            if self.may_come_in_vain and error.status == NOTHING_LEFT:
                return Work(self.kind)
            raise

    async def _worked(self) -> Work:
        done = Work(self.kind)
        visitor, settings = await asyncio.to_thread(
            enter, self.server, self.link, people=self.people, number=self.number, language=self.language
        )
        done.code = visitor.page.values.get("resume-code", "")
        settings = await self.led_on(visitor, settings, done)
        if not settings:
            return done
        async with AsyncExitStack() as opened:
            tabs = [
                await opened.enter_async_context(Conversation(visitor, settings))
                for _ in range(2 if self.kind is Kind.TWO_TABS else 1)
            ]
            thanks = await self.walk(tabs, settings, done)
        if thanks:
            await asyncio.to_thread(self._take_code, visitor, thanks)
            done.finished = not done.was_left
        elif self.says_when_leaving and self.kind is Kind.LEAVING:
            await asyncio.to_thread(self._leave, visitor)
        return done

    async def led_on(self, visitor: Visitor, settings: dict[str, Any], done: Work) -> dict[str, Any]:
        """From the page after the instructions to that of the work; its settings, none if all is over."""
        del visitor, done
        return settings

    def _leave(self, visitor: Visitor) -> None:
        page = visitor.get(f"{self.link}leave/")
        visitor.submit(page, page.form("leave/"))

    def _take_code(self, visitor: Visitor, thanks: str) -> None:
        page = self.people.answered(visitor, visitor.get(thanks), self.number)
        if not re.fullmatch(r"\w{8}", page.values.get("completion-code", "")):
            raise MismatchError(f"The page {page.address} shows no completion code.")

    @abstractmethod
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        """Do the work that the page with these settings is for; the page to go to, empty after leaving."""


async def ended(conversation: Conversation, how: str) -> str:
    """End the conversation; the page to go to. States and failures of before may still be on their way."""
    await conversation.send(type=how)
    while True:
        told = await conversation.heard("state", "bot_failed")
        if told.get("finished"):
            thanks: str = told["finished"]
            return thanks
