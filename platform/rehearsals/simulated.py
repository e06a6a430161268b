"""What simulated workers of all studies have in common. They use what people use: pages and sockets."""

import asyncio
import re
from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from rehearsals.people import People
from rehearsals.planted import Answers, Kind, Plan
from rehearsals.visitor import Visitor
from rehearsals.worker import Conversation, MismatchError, enter, socket_of


@dataclass
class Work:
    """What came of one worker.

    Attributes:
        kind: how they worked.
        place: public id of their conversation or batch; empty if there was nothing for them.
        system: the bot that they talked with, as the report calls it; empty for those who judge.
        labels: by name of what they judged, what they answered last.
        beside: the same of each further ask of the study, in its order.
        again: by name of what they judged a second time, what they answered then.
        finished: whether they got to their completion code.
        gave_up: whether they ended a conversation because the bot could not answer.
    """

    kind: Kind
    place: str = ""
    system: str = ""
    labels: dict[str, Answers] = field(default_factory=dict)
    beside: list[dict[str, Answers]] = field(default_factory=list)
    again: dict[str, Answers] = field(default_factory=dict)
    finished: bool = False
    gave_up: bool = False


@dataclass
class SimulatedWorker(ABC):
    """Someone who takes part once.

    Attributes:
        number: tells workers apart; it decides small things, such as what they say.
        kind: how they work.
        plan: what they are dealt.
        server, link: where the study is.
        language: which they read, of a study with several.
        people: what the study asks about them.
    """

    number: int
    kind: Kind
    plan: Plan
    server: str
    link: str
    language: str = field(default="", kw_only=True)
    people: People = field(default_factory=People, kw_only=True)

    async def work(self) -> Work:
        """From the link to the completion code, or as far as this kind of worker goes.

        Raises:
            MismatchError, PageError: the server refused what it should have taken.
        """
        done = Work(self.kind)
        visitor, settings = await asyncio.to_thread(
            enter, self.server, self.link, people=self.people, number=self.number, language=self.language
        )
        async with AsyncExitStack() as opened:
            tabs = [
                Conversation(await opened.enter_async_context(socket_of(visitor, settings)))
                for _ in range(2 if self.kind is Kind.TWO_TABS else 1)
            ]
            thanks = await self.walk(tabs, settings, done)
        if thanks:
            await asyncio.to_thread(self._take_code, visitor, thanks)
            done.finished = True
        return done

    def _take_code(self, visitor: Visitor, thanks: str) -> None:
        page = self.people.answered(visitor, visitor.get(thanks), self.number)
        if not re.fullmatch(r"\w{8}", page.values.get("completion-code", "")):
            raise MismatchError(f"The page {page.address} shows no completion code.")

    @abstractmethod
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        """Do the work that the page with these settings is for; the page to go to, empty after leaving."""


async def ended(conversation: Conversation, how: str) -> str:
    """End the conversation; the page to go to. With two tabs, states of before may still be on their way."""
    await conversation.send(type=how)
    while True:
        state = await conversation.heard("state")
        if state["finished"]:
            thanks: str = state["finished"]
            return thanks
