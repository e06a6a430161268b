"""How simulated workers talk with a bot and judge its replies."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from typing_extensions import override

from reports.rehearsal.planted import Kind
from reports.rehearsal.simulated import SimulatedWorker, Work, ended
from reports.rehearsal.worker import Conversation

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
"""By the public id of a dialogue, what reports call its bot, which workers themselves are not told."""


@dataclass
class Chatter(SimulatedWorker):
    """Someone who talks with a bot. With two tabs they write in one and judge in the other.

    Attributes:
        replies: least and most replies that a conversation of the study has.
        bot_of: tells whom they were given.
    """

    replies: tuple[int, int]
    bot_of: BotOf

    @override
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        done.place = settings["dialogue"]
        done.system = await self.bot_of(done.place)
        if not await self._talk(tabs[0], tabs[-1], done):
            return ""
        return await ended(tabs[0], "finish")

    async def _talk(self, writing: Conversation, judging: Conversation, done: Work) -> bool:
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
            reply = f"{done.place} {position}"
            self.plan.meet(reply, done.system)
            done.labels[reply] = self.plan.deal(reply, self.kind)
            saved = await judging.exchange(
                "label_saved", type="label", position=position, answers=done.labels[reply]
            )
            progress = saved["progress"]
        return self.kind is not Kind.LEAVING

    def _wanted(self) -> int:
        """Replies after which this worker finishes, or leaves."""
        least, most = self.replies
        if self.kind is Kind.LEAVING:
            return max(1, least // 2)
        return min(most, least + (self.number + self.number // 2) % 2)  # 0 1 1 0: bots are given in turns


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
            await ended(conversation, "give_up")
            return None
        await conversation.send(type="retry")
