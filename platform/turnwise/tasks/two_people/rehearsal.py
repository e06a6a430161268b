"""Simulated workers who meet in the lobby, talk about their reading material, and judge messages."""

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
from turnwise.rehearsals.rehearsed_task import Crowd, UnrehearsableError, WorkerProfile, worker_profiles
from turnwise.rehearsals.services import copy_study as copied_study
from turnwise.rehearsals.simulated_answers import PROFANE_TEXT, REPEATED_TEXT, copied_text, message_text
from turnwise.rehearsals.simulated_worker import Conversation
from turnwise.rehearsals.simulation import SimulatedWorker, Work, end_conversation
from turnwise.reports.answers import bot_names
from turnwise.studies.asks import About
from turnwise.studies.models import Study
from turnwise.studies.queries import active_bots_of
from turnwise.tasks.conversation.rehearsal import Chatter
from turnwise.tasks.two_people import rehearsal_findings
from turnwise.tasks.two_people.models import TwoPeoplePlan

WAIT_MINUTES = 1
"""Longest wait in a rehearsal; the last of an odd number of workers waits this long in vain."""

Texts = Callable[[str, int], Awaitable[list[str]]]
"""Reads the texts of a seat; arguments are the dialogue's public id and the seat number."""


@dataclass
class Talker(Chatter):
    """A worker who talks with another person, or with a bot if no partner comes and the study offers one.

    Attributes:
        lengths: least and most turns of a conversation in the study.
        texts_of: reads a seat's reading material.
    """

    says_when_leaving = True

    lengths: tuple[int, int] = field(kw_only=True)
    texts_of: Texts = field(kw_only=True)

    @override
    async def open_work(self, visitor: Visitor, settings: dict[str, Any], done: Work) -> dict[str, Any]:
        """Go through the lobby; a worker without a partner takes the completion code."""
        async with Conversation(visitor, settings) as lobby:
            while (frame := await lobby.receive("are_you_there", "met", "over"))["type"] == "are_you_there":
                await lobby.send(type="here", **{key: frame[key] for key in ("meeting",) if key in frame})
        if frame["type"] == "met":
            return (await asyncio.to_thread(visitor.get, frame["url"])).settings()
        await asyncio.to_thread(self._take_code, visitor, frame["url"])
        done.waited_in_vain = True
        return {}

    @override
    async def do_work(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        if not settings["person"]:
            return await super().do_work(tabs, settings, done)
        talk = await Talk.start(self, tabs, settings, done)
        how = await talk.run()
        if how == "leave":
            return ""
        if how == "finish":
            await talk.judge_whole()
        else:
            done.was_left = True
        return await end_conversation(tabs[0], how)


@dataclass
class Talk:
    """One worker's side of a conversation; they may write in one tab and judge in another."""

    who: Talker
    writing: Conversation
    judging: Conversation
    asks: list[dict[str, Any]]
    done: Work
    seat: int
    texts: list[str]
    turns: int = 0
    messages_sent: int = 0
    is_closing: bool = False
    is_left: bool = False

    @classmethod
    async def start(
        cls, who: Talker, tabs: list[Conversation], settings: dict[str, Any], done: Work
    ) -> "Talk":
        state = await tabs[0].receive("state")
        seat = 0 if state["progress"]["may_send"] and not state["turns"] else 1
        done.work_id, done.system = settings["dialogue"], HUMAN
        done.further_labels = [{} for _ in who.plans[1:]]
        texts = await who.texts_of(done.work_id, seat)
        talk = cls(who, tabs[0], tabs[-1], settings["asks"], done, seat, texts)
        talk.note(state)
        tabs[0].on_frame = talk.note  # partner's turns may arrive while an answer is being saved
        return talk

    def note(self, frame: dict[str, Any]) -> None:
        """Update the state of the conversation from a frame."""
        shown = frame.get("turns", [frame["turn"]] if "turn" in frame else [])
        self.turns = max([self.turns, *(turn["position"] + 1 for turn in shown)])
        self.is_closing = self.is_closing or bool(frame.get("progress", {}).get("closing"))
        self.is_left = self.is_left or (frame["type"] == "partner" and frame["left"])

    async def run(self) -> str:
        """Talk until the conversation is long enough; returns the frame type that ends it."""
        position = 0
        while True:
            if position % 2 == self.seat:
                if self.who.kind is Kind.LEAVING and position >= max(2, self.who.lengths[0] // 2):
                    return "leave"
                if position >= self._target_turns():
                    return "finish"
                await self._say(position)
                await self._judge_turn(position, About.OWN_TURN)
            else:
                if how := await self._listen(position):
                    return how
                await self._judge_turn(position, About.PARTNER_TURN)
            position += 1

    def _target_turns(self) -> int:
        """Number of turns of both after which this worker finishes."""
        least, most = self.who.lengths
        return min(most, least + self.who.number % 3)

    async def _say(self, position: int) -> None:
        text = self._text()
        await self.writing.send(type="turn", key=str(uuid4()), text=text)
        while self.turns <= position:
            await self.writing.receive("turn_saved", "state")
        self.done.texts[f"{self.done.work_id} {position}"] = text
        self.messages_sent += 1

    def _text(self) -> str:
        number, kind = self.who.number, self.who.kind
        if kind is Kind.STRAIGHT_LINING:
            return REPEATED_TEXT
        if kind is Kind.CARELESS and self.messages_sent == 0:
            return PROFANE_TEXT
        if kind is Kind.CARELESS and self.messages_sent == 1 and (copy := copied_text(self.texts)):
            return copy
        return message_text(number, self.seat, self.messages_sent)

    async def _listen(self, position: int) -> str:
        """Wait for the partner's turn; returns empty, or the frame type that ends the conversation."""
        while self.turns <= position:
            if self.is_left:
                return "end_alone"
            if self.is_closing:
                return "finish"
            await self.writing.receive("partner_turn", "state", "partner")
        return ""

    async def _judge_turn(self, position: int, about: About) -> None:
        for ask in self.asks:
            if ask["about"] == about:
                await self.who.judge(self.judging, ask, position, self.done)

    async def judge_whole(self) -> None:
        """Answer the asks about the whole conversation."""
        for ask in self.asks:
            if ask["about"] == About.DIALOGUE:
                await self.who.judge(self.judging, ask, None, self.done, f"whole by {self.seat}")


def copy_with_places(study: Study, workers: int) -> Study:
    """Copy the study with places for all of these workers and a short wait."""
    plan = TwoPeoplePlan.objects.get(study=study)
    if workers < 2:
        raise UnrehearsableError("Two people talk with each other. Use --workers 2 or more.")
    pairs = -(-workers // 2)
    if study.knowledge_id:
        places = MOST_USES * Article.objects.filter(version=study.knowledge_id).count()
        if pairs > places:
            raise UnrehearsableError(
                f"The knowledge base has articles for {places} conversations, {MOST_USES} about each. Use "
                f"--workers {2 * places} or fewer, or a base with more articles."
            )
    bots = (
        {each.bot: workers for each in active_bots_of(study)} if plan.alone == TwoPeoplePlan.Alone.BOT else {}
    )
    copy = copied_study(study, bots)
    TwoPeoplePlan.objects.create(
        study=copy, conversations=pairs, wait_minutes=WAIT_MINUTES, alone=plan.alone, disclosed=plan.disclosed
    )
    return copy


def talking_crowd(rehearsal: Study, server: str, workers: int) -> Crowd:
    """Make workers who meet in pairs; the last of an odd number starts when the others have left."""
    names, link = bot_names(rehearsal), rehearsal.get_entry_url()
    bots = sorted(names.values())
    plans = [
        Plan(question_set(ask.question_set), [HUMAN, *bots], alone=True, rare=bots)
        for ask in rehearsal.work_asks
    ]
    lengths = rehearsal.min_turns, rehearsal.max_turns
    replies = (rehearsal.min_turns + 1) // 2, max(1, rehearsal.max_turns // 2)
    sat = worker_profiles(workers, [""])
    late = {workers - 1} if workers % 2 else set()

    @database_sync_to_async
    def texts_of(dialogue: str, seat: int) -> list[str]:
        given = Material.objects.filter(seat__dialogue__public_id=dialogue, seat__number=seat)
        return list(given.order_by("number").values_list("text", flat=True))

    @database_sync_to_async
    def bot_of(dialogue: str) -> str:
        held = DialogueSeat.objects.filter(dialogue__public_id=dialogue, bot__isnull=False)
        return names[held.values_list("bot_id", flat=True).get()]

    def worker(number: int, seat: WorkerProfile) -> SimulatedWorker:
        # A worker without a partner who gets a bot stays to the end, so that the bot has a conversation.
        kind = Kind.CAREFUL if number in late else seat.kind
        return Talker(
            number, kind, server, link, plans=plans, replies=replies, bot_of=bot_of, lengths=lengths,
            texts_of=texts_of,
        )  # fmt: skip

    return Crowd(
        plans[0], sat, late, worker,
        further_plans=plans[1:],
        further_findings=partial(rehearsal_findings.findings, rehearsal),
        advice="Use more workers; 30 nearly always suffice.",
        late_notice=f"The last one comes, for whom nobody is left, and waits for {WAIT_MINUTES} minute.",
    )  # fmt: skip
