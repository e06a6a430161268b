"""How simulated people find each other, talk about what they read, and judge what is said."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import uuid4

from channels.db import database_sync_to_async
from typing_extensions import override

from evaluation.protocols.facts import HUMAN
from turnwise.dialogues.models import MOST_USES, Material
from turnwise.dialogues.models import Seat as DialogueSeat
from turnwise.knowledge.models import Article
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.injected_effects import Kind, Plan
from turnwise.rehearsals.page_visitor import Visitor
from turnwise.rehearsals.rehearsed_task import Crowd, Seat, UnrehearsableError, seats
from turnwise.rehearsals.services import bots_of
from turnwise.rehearsals.services import copied as copied_study
from turnwise.rehearsals.simulated_answers import AGAIN, SWORN, copied, said
from turnwise.rehearsals.simulated_worker import Conversation
from turnwise.rehearsals.simulation import SimulatedWorker, Work, ended
from turnwise.reports.answers import bot_names
from turnwise.studies.asks import About
from turnwise.studies.models import Study
from turnwise.tasks.conversation.rehearsal import Chatter
from turnwise.tasks.two_people import rehearsal_findings
from turnwise.tasks.two_people.models import TwoPeoplePlan

WAIT_MINUTES = 1
"""The longest wait in a rehearsal, in which one of an odd number waits in vain."""

Texts = Callable[[str, int], Awaitable[list[str]]]
"""By the public id of a dialogue and a seat, the texts that its person was given to read."""


@dataclass
class Talker(Chatter):
    """Somebody who talks with another person; with a bot, if the study has one for whom nobody came.

    Attributes:
        lengths: least and most turns that a conversation of the study has.
        texts_of: tells what they were given to read.
    """

    says_when_leaving = True

    lengths: tuple[int, int] = field(kw_only=True)
    texts_of: Texts = field(kw_only=True)

    @override
    async def led_on(self, visitor: Visitor, settings: dict[str, Any], done: Work) -> dict[str, Any]:
        """Through the lobby; who waits in vain gets their completion code."""
        async with Conversation(visitor, settings) as lobby:
            while (heard := await lobby.heard("are_you_there", "met", "over"))["type"] == "are_you_there":
                await lobby.send(type="here", **{key: heard[key] for key in ("meeting",) if key in heard})
        if heard["type"] == "met":
            return (await asyncio.to_thread(visitor.get, heard["url"])).settings()
        await asyncio.to_thread(self._take_code, visitor, heard["url"])
        done.waited_in_vain = True
        return {}

    @override
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        if not settings["person"]:
            return await super().walk(tabs, settings, done)
        talk = await Talk.begun(self, tabs, settings, done)
        how = await talk.held()
        if how == "leave":
            return ""
        if how == "finish":
            await talk.judge_whole()
        else:
            done.was_left = True
        return await ended(tabs[0], how)


@dataclass
class Talk:
    """A conversation as one of the two has it, who may write in one tab and judge in the other."""

    who: Talker
    writing: Conversation
    judging: Conversation
    asks: list[dict[str, Any]]
    done: Work
    seat: int
    texts: list[str]
    turns: int = 0
    own: int = 0
    is_closing: bool = False
    is_left: bool = False

    @classmethod
    async def begun(
        cls, who: Talker, tabs: list[Conversation], settings: dict[str, Any], done: Work
    ) -> "Talk":
        state = await tabs[0].heard("state")
        seat = 0 if state["progress"]["may_send"] and not state["turns"] else 1
        done.given, done.system = settings["dialogue"], HUMAN
        done.beside = [{} for _ in who.plans[1:]]
        texts = await who.texts_of(done.given, seat)
        talk = cls(who, tabs[0], tabs[-1], settings["asks"], done, seat, texts)
        talk.note(state)
        tabs[0].noted = talk.note  # what the other says may come while an answer is being saved
        return talk

    def note(self, frame: dict[str, Any]) -> None:
        """What a frame tells of the conversation."""
        shown = frame.get("turns", [frame["turn"]] if "turn" in frame else [])
        self.turns = max([self.turns, *(turn["position"] + 1 for turn in shown)])
        self.is_closing = self.is_closing or bool(frame.get("progress", {}).get("closing"))
        self.is_left = self.is_left or (frame["type"] == "partner" and frame["left"])

    async def held(self) -> str:
        """Talk until enough is said; what is to be told to the server then."""
        position = 0
        while True:
            if position % 2 == self.seat:
                if self.who.kind is Kind.LEAVING and position >= max(2, self.who.lengths[0] // 2):
                    return "leave"
                if position >= self._wanted():
                    return "finish"
                await self._say(position)
                await self._judge_turn(position, About.OWN_TURN)
            else:
                if how := await self._listen(position):
                    return how
                await self._judge_turn(position, About.PARTNER_TURN)
            position += 1

    def _wanted(self) -> int:
        """Turns of both after which this person finishes."""
        least, most = self.who.lengths
        return min(most, least + self.who.number % 3)

    async def _say(self, position: int) -> None:
        text = self._text()
        await self.writing.send(type="turn", key=str(uuid4()), text=text)
        while self.turns <= position:
            await self.writing.heard("turn_saved", "state")
        self.done.said[f"{self.done.given} {position}"] = text
        self.own += 1

    def _text(self) -> str:
        number, kind = self.who.number, self.who.kind
        if kind is Kind.STRAIGHT_LINING:
            return AGAIN
        if kind is Kind.CARELESS and self.own == 0:
            return SWORN
        if kind is Kind.CARELESS and self.own == 1 and (copy := copied(self.texts)):
            return copy
        return said(number, self.seat, self.own)

    async def _listen(self, position: int) -> str:
        """Until the other has said something; else what is to be told to the server, as they will not."""
        while self.turns <= position:
            if self.is_left:
                return "end_alone"
            if self.is_closing:
                return "finish"
            await self.writing.heard("partner_turn", "state", "partner")
        return ""

    async def _judge_turn(self, position: int, about: About) -> None:
        for ask in self.asks:
            if ask["about"] == about:
                await self.who.judge(self.judging, ask, position, self.done)

    async def judge_whole(self) -> None:
        """Say what is asked about the whole, which here is what the other one said."""
        for ask in self.asks:
            if ask["about"] == About.DIALOGUE:
                await self.who.judge(self.judging, ask, None, self.done, f"whole by {self.seat}")


def with_room(study: Study, workers: int) -> Study:
    """A copy with room for all of these workers, in which nobody waits for long."""
    plan = TwoPeoplePlan.objects.get(study=study)
    if workers < 2:
        raise UnrehearsableError("Two people talk with each other. Use --workers 2 or more.")
    pairs = -(-workers // 2)
    if study.knowledge_id:
        room = MOST_USES * Article.objects.filter(version=study.knowledge_id).count()
        if pairs > room:
            raise UnrehearsableError(
                f"The knowledge base has articles for {room} conversations, {MOST_USES} about each. Use "
                f"--workers {2 * room} or fewer, or a base with more articles."
            )
    bots = {each.bot: workers for each in bots_of(study)} if plan.alone == TwoPeoplePlan.Alone.BOT else {}
    copy = copied_study(study, bots)
    TwoPeoplePlan.objects.create(
        study=copy, conversations=pairs, wait_minutes=WAIT_MINUTES, alone=plan.alone, disclosed=plan.disclosed
    )
    return copy


def talkers(rehearsal: Study, server: str, workers: int) -> Crowd:
    """All but the last of an odd number meet somebody; that one comes when the others have gone."""
    names, link = bot_names(rehearsal), rehearsal.get_entry_url()
    bots = sorted(names.values())
    plans = [
        Plan(question_set(ask.question_set), [HUMAN, *bots], alone=True, rare=bots) for ask in rehearsal.asked
    ]
    lengths = rehearsal.min_turns, rehearsal.max_turns
    replies = (rehearsal.min_turns + 1) // 2, max(1, rehearsal.max_turns // 2)
    sat = seats(workers, [""])
    late = {workers - 1} if workers % 2 else set()

    @database_sync_to_async
    def texts_of(dialogue: str, seat: int) -> list[str]:
        given = Material.objects.filter(seat__dialogue__public_id=dialogue, seat__number=seat)
        return list(given.order_by("number").values_list("text", flat=True))

    @database_sync_to_async
    def bot_of(dialogue: str) -> str:
        held = DialogueSeat.objects.filter(dialogue__public_id=dialogue, bot__isnull=False)
        return names[held.values_list("bot_id", flat=True).get()]

    def worker(number: int, seat: Seat) -> SimulatedWorker:
        # Who talks with a bot because nobody came stays to the end, so that the bot has a conversation.
        kind = Kind.CAREFUL if number in late else seat.kind
        return Talker(
            number, kind, server, link, plans=plans, replies=replies, bot_of=bot_of, lengths=lengths,
            texts_of=texts_of,
        )  # fmt: skip

    return Crowd(
        plans[0], sat, late, worker, beside=plans[1:], also=partial(rehearsal_findings.findings, rehearsal),
        more="Use more workers; 30 nearly always suffice.",
        why_late=f"The last one comes, for whom nobody is left, and waits for {WAIT_MINUTES} minute.",
    )  # fmt: skip
