"""How simulated workers talk with the bots of a study and judge their replies."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from channels.db import database_sync_to_async
from typing_extensions import override

from turnwise.bots.models import Bot
from turnwise.dialogues.models import Seat as DialogueSeat
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.injected_effects import Kind, Plan
from turnwise.rehearsals.rehearsed_task import Crowd, Seat, UnrehearsableError, seats
from turnwise.rehearsals.services import bots_of
from turnwise.rehearsals.simulated_worker import Conversation
from turnwise.rehearsals.simulation import SimulatedWorker, Work, ended
from turnwise.reports.answers import bot_names
from turnwise.studies.asks import About
from turnwise.studies.models import Study

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
        plans: what they are dealt of each ask, in the study's order.
        replies: least and most replies that a conversation of the study has.
        bot_of: tells whom they were given.
    """

    plans: Sequence[Plan]
    replies: tuple[int, int]
    bot_of: BotOf

    @override
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        done.given = settings["dialogue"]
        done.system = await self.bot_of(done.given)
        done.beside = [{} for _ in self.plans[1:]]
        if not await self._talk(tabs[0], tabs[-1], settings["asks"], done):
            return ""
        for ask in settings["asks"]:
            if ask["about"] == About.DIALOGUE:
                await self.judge(tabs[-1], ask, None, done)
        return await ended(tabs[0], "finish")

    async def _talk(
        self, writing: Conversation, judging: Conversation, asks: list[dict[str, Any]], done: Work
    ) -> bool:
        """Talk and judge the turns; whether the conversation can be finished now."""
        progress = (await writing.heard("state"))["progress"]
        replies, last = 0, 0
        while progress["unlabelled"] or replies < self._wanted():
            if progress["unlabelled"]:  # a reply that came before this tab was there
                position: int | None = progress["unlabelled"][-1]
            else:
                if progress["may_send"]:
                    text = SENTENCES[(self.number + replies) % len(SENTENCES)]
                    await writing.send(type="turn", key=str(uuid4()), text=text)
                position = await _reply(writing, after=last)
            if position is None:
                done.gave_up = True
                return False
            last, replies = position, replies + 1
            for about, judged in ((About.OWN_TURN, position - 1), (About.PARTNER_TURN, position)):
                for ask in asks:
                    if ask["about"] == about:
                        progress = await self.judge(judging, ask, judged, done)
        return self.kind is not Kind.LEAVING

    async def judge(
        self,
        judging: Conversation,
        ask: dict[str, Any],
        position: int | None,
        done: Work,
        whole: str = "whole",
    ) -> dict[str, Any]:
        """Answer one ask about a turn, or about what is called whole here; the progress after it."""
        number, thing = ask["number"], f"{done.given} {whole if position is None else position}"
        plan = self.plans[number]
        shown = {each["key"]: [choice["value"] for choice in each["choices"]] for each in ask["questions"]}
        plan.meet(thing, done.system, shown)
        answers = plan.deal(thing, self.kind)
        (done.labels, *done.beside)[number][thing] = answers
        saved = await judging.exchange(
            "label_saved", type="label", position=position, ask=number, answers=answers
        )
        progress: dict[str, Any] = saved["progress"]
        return progress

    def _wanted(self) -> int:
        """Replies after which this worker finishes, or leaves."""
        least, most = self.replies
        if self.kind is Kind.LEAVING:
            return max(1, least // 2)
        return min(most, least + (self.number + self.number // 2) % 2)  # 0 1 1 0: bots are given in turns


async def _reply(conversation: Conversation, *, after: int) -> int | None:
    """The position of the bot's next reply, which is asked for again if it failed; None after giving up."""
    while True:
        heard = await conversation.heard("bot_turn", "bot_failed", "state")
        # Of two tabs one may tell the other nothing yet, which is shown the state then; or tell it twice.
        turns = heard["turns"] if heard["type"] == "state" else [heard["turn"]] if "turn" in heard else []
        replies = [turn["position"] for turn in turns if turn["speaker"] == "bot"]
        position: int = max(replies, default=after)
        if position > after:
            return position
        fault = heard.get("fault")
        # A state tells of a failure, too, which is news only to who was away when it was told.
        is_old = heard["type"] == "state" and (heard["progress"]["thinking"] or not conversation.returned)
        if not fault or is_old:
            continue
        if fault["may_give_up"]:
            await ended(conversation, "give_up")
            return None
        await conversation.send(type="retry")


def targets(study: Study, workers: int) -> dict[Bot, int]:
    """Conversations wanted of each bot, in the study's proportions."""
    bots = bots_of(study)
    if not bots:
        raise UnrehearsableError(f"“{study.title}” has no active bot with a target. Choose one first.")
    all_wanted = sum(each.target for each in bots)
    return {each.bot: -(-workers * each.target // all_wanted) for each in bots}


def chatters(rehearsal: Study, server: str, workers: int) -> Crowd:
    names, link = bot_names(rehearsal), rehearsal.get_entry_url()
    systems = sorted(names.values())
    plans = [Plan(question_set(ask.question_set), systems, alone=True) for ask in rehearsal.asked]
    replies = ((rehearsal.min_turns + 1) // 2, rehearsal.max_turns // 2)

    @database_sync_to_async
    def bot_of(dialogue: str) -> str:
        spoken_with = DialogueSeat.objects.filter(dialogue__public_id=dialogue, bot__isnull=False)
        return names[spoken_with.values_list("bot_id", flat=True).get()]

    def worker(number: int, seat: Seat) -> SimulatedWorker:
        return Chatter(number, seat.kind, server, link, plans=plans, replies=replies, bot_of=bot_of)

    return Crowd(plans[0], seats(workers, [""]), set(), worker, beside=plans[1:])
