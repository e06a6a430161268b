"""How simulated workers of each kind go through a study. They use what people use: pages and the socket."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from uuid import uuid4

from reports.rehearsal.planted import Answers, Kind
from reports.rehearsal.visitor import Visitor
from reports.rehearsal.worker import Conversation, MismatchError, enter, socket_of

# What they say. The answers are planted, so what bots make of it does not matter.
SENTENCES = (
    "Hello! How is your day going?",
    "I have just planted tomatoes on my balcony.",
    "Do you think they will get enough sun there?",
    "What do you like to do in the evening?",
    "My train was late again, an hour and a half!",
    "Which season do you like best? Mine is autumn.",
    "I am thinking about learning to play the piano.",
    "Have you read a good book lately?",
)

BotOf = Callable[[str], Awaitable[str]]
"""By the public id of a dialogue, the name of its bot, which workers themselves are not told."""
Deal = Callable[[str, Kind], Answers]


@dataclass
class Work:
    """What came of one worker.

    Attributes:
        kind: how they worked.
        bot: name of the bot they talked with.
        labels: what they answered, reply by reply.
        finished: whether they got to their completion code after a complete conversation.
        gave_up: whether they ended it because the bot could not answer.
    """

    kind: Kind
    bot: str = ""
    dialogue: str = ""
    labels: list[Answers] = field(default_factory=list)
    finished: bool = False
    gave_up: bool = False


@dataclass
class SimulatedWorker:
    """Someone who takes part once.

    Attributes:
        number: tells workers apart; it decides how long they talk and what they say.
        kind: how they work.
        server, link: where the study is.
        replies: least and most replies that a conversation of the study has.
    """

    number: int
    kind: Kind
    server: str
    link: str
    replies: tuple[int, int]

    async def work(self, bot_of: BotOf, deal: Deal) -> Work:
        """From the link to the completion code, or as far as this kind of worker goes.

        Raises:
            MismatchError, PageError: the server refused what it should have taken.
        """
        visitor, settings = await asyncio.to_thread(enter, self.server, self.link)
        done = Work(self.kind, dialogue=settings["dialogue"])
        done.bot = await bot_of(done.dialogue)
        async with AsyncExitStack() as tabs:
            writing = Conversation(await tabs.enter_async_context(socket_of(visitor, settings)))
            judging = writing
            if self.kind is Kind.TWO_TABS:
                judging = Conversation(await tabs.enter_async_context(socket_of(visitor, settings)))
            if not await self._talk(writing, judging, done, deal):
                return done
            thanks = await _ended(writing, "finish")
        await asyncio.to_thread(_take_code, visitor, thanks)
        done.finished = True
        return done

    async def _talk(self, writing: Conversation, judging: Conversation, done: Work, deal: Deal) -> bool:
        """Talk and judge; whether the conversation can be finished now."""
        progress = (await writing.heard("state"))["progress"]
        last = 0
        while progress["unlabelled"] or len(done.labels) < self._wanted():
            if progress["unlabelled"]:  # a reply that came before this tab was there
                position: int | None = progress["unlabelled"][0]
            else:
                if progress["may_send"]:
                    text = SENTENCES[(self.number + len(done.labels)) % len(SENTENCES)]
                    await writing.send(type="turn", key=str(uuid4()), text=text)
                position = await _reply(writing, after=last)
            if position is None:
                done.gave_up = True
                return False
            last = position
            answers = deal(done.bot, self.kind)
            saved = await judging.exchange("label_saved", type="label", position=position, answers=answers)
            progress = saved["progress"]
            done.labels.append(answers)
        return self.kind is not Kind.LEAVING

    def _wanted(self) -> int:
        """Replies after which this worker finishes, or leaves."""
        least, most = self.replies
        if self.kind is Kind.LEAVING:
            return max(1, least // 2)
        return min(most, least + self.number % 2)


async def _reply(conversation: Conversation, *, after: int) -> int | None:
    """The position of the bot's next reply, which is asked for again if it failed; None after giving up."""
    while True:
        heard = await conversation.heard("bot_turn", "bot_failed")
        if heard["type"] == "bot_turn":
            position: int = heard["turn"]["position"]
            if position > after:  # with two tabs the same reply may be told twice
                return position
            continue
        if heard["fault"]["may_give_up"]:
            await _ended(conversation, "give_up")
            return None
        await conversation.send(type="retry")


async def _ended(conversation: Conversation, how: str) -> str:
    """End the conversation; the page to go to. With two tabs, states of before may still be on their way."""
    await conversation.send(type=how)
    while True:
        state = await conversation.heard("state")
        if state["finished"]:
            thanks: str = state["finished"]
            return thanks


def _take_code(visitor: Visitor, thanks: str) -> None:
    page = visitor.get(thanks)
    if not re.fullmatch(r"\w{8}", page.values.get("completion-code", "")):
        raise MismatchError(f"The page {page.address} shows no completion code.")
