"""Simulated workers who talk with the bots of a study and judge the replies."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from uuid import uuid4

from channels.db import database_sync_to_async
from typing_extensions import override

from turnwise.bots.models import Bot
from turnwise.dialogues.models import MessagePicture
from turnwise.dialogues.models import Seat as DialogueSeat
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.condition_effects import condition_findings, tilt_of
from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.injected_effects import Kind, Plan
from turnwise.rehearsals.rehearsed_task import Crowd, UnrehearsableError, WorkerProfile, worker_profiles
from turnwise.rehearsals.simulated_worker import Conversation
from turnwise.rehearsals.simulation import SimulatedWorker, Work, end_conversation
from turnwise.reports.answers import bot_names
from turnwise.studies.asks import About
from turnwise.studies.conditions.factors import Condition, restricts
from turnwise.studies.models import Study
from turnwise.studies.queries import active_bots_of

# Messages of the workers. Their labels are decided beforehand, so the bots' replies do not matter.
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

ASKS_FOR_ANOTHER = 3
"""A worker asks for another reply to one in so many messages, where the study allows it."""

SENDS_A_PICTURE = 4
"""One worker in so many sends a picture with the first message, where the study takes pictures."""

BotOf = Callable[[str], Awaitable[str]]
"""Reads the report's name of a dialogue's bot, which workers do not know; the argument is its public id."""
TiltOf = Callable[[str], Awaitable[float]]
"""Reads the effect of the condition of a dialogue's worker, who does not know it, likewise."""


async def _no_tilt(dialogue: str) -> float:
    del dialogue
    return 0.0


@dataclass
class Chatter(SimulatedWorker):
    """A worker who talks with a bot. With two tabs they write in one and judge in the other.

    Attributes:
        plans: dealt answers of each ask, in the study's order.
        replies: least and most replies of a conversation in the study.
        bot_of: reads the bot of a dialogue.
        tilt_of: reads the effect of the worker's condition in a dialogue.
    """

    plans: Sequence[Plan]
    replies: tuple[int, int]
    bot_of: BotOf
    tilt_of: TiltOf = field(default=_no_tilt, kw_only=True)
    _tilt: float = field(default=0.0, init=False)

    @override
    async def do_work(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        done.work_id = settings["dialogue"]
        done.system = await self.bot_of(done.work_id)
        self._tilt = await self.tilt_of(done.work_id)
        done.further_labels = [{} for _ in self.plans[1:]]
        if not await self._talk(tabs[0], tabs[-1], settings, done):
            return ""
        for ask in settings["asks"]:
            if ask["about"] == About.DIALOGUE:
                await self.judge(tabs[-1], ask, None, done)
        return await end_conversation(tabs[0], "finish")

    async def _talk(
        self, writing: Conversation, judging: Conversation, settings: dict[str, Any], done: Work
    ) -> bool:
        """Talk and judge the turns; returns True if the worker finishes the conversation."""
        asks: list[dict[str, Any]] = settings["asks"]
        progress = (await writing.receive("state"))["progress"]
        replies, last = 0, 0
        while progress["unlabelled"] or replies < self._target_turns():
            if progress["unlabelled"]:  # the reply came before this tab opened
                position: int | None = progress["unlabelled"][-1]
            else:
                if progress["may_send"]:
                    await self._send_message(writing, replies, settings, done)
                position = await _reply(writing, after=last)
            if position is None:
                done.gave_up = True
                return False
            last, replies = position, replies + 1
            if settings["max_versions"] > 1 and not (self.number + replies) % ASKS_FOR_ANOTHER:
                await _choose_reply(writing, position, is_back=bool(self.number % 2))
            for about, judged in ((About.OWN_TURN, position - 1), (About.PARTNER_TURN, position)):
                for ask in asks:
                    if ask["about"] == about:
                        progress = await self.judge(judging, ask, judged, done)
        return self.kind is not Kind.LEAVING

    async def _send_message(
        self, writing: Conversation, replies: int, settings: dict[str, Any], done: Work
    ) -> None:
        """Send the message after so many replies, some workers' first one with a picture."""
        text = SENTENCES[(self.number + replies) % len(SENTENCES)]
        picture: dict[str, str] = {}
        if not (replies or self.number % SENDS_A_PICTURE) and "pictures" in settings:
            uploaded = await writing.upload(
                settings["pictures"]["upload"], "picture", _picture(self.number), name="picture.png"
            )
            picture = {"picture": uploaded["key"], "description": f"Picture {self.number + 1}"}
            done.pictures += 1
        await writing.send(type="turn", key=str(uuid4()), text=text, **picture)

    async def judge(
        self,
        judging: Conversation,
        ask: dict[str, Any],
        position: int | None,
        done: Work,
        whole: str = "whole",
    ) -> dict[str, Any]:
        """Answer one ask about a turn, or about the thing named `whole`; returns the progress after it."""
        number, thing = ask["number"], f"{done.work_id} {whole if position is None else position}"
        plan = self.plans[number]
        shown = {each["key"]: [choice["value"] for choice in each["choices"]] for each in ask["questions"]}
        plan.meet(thing, done.system, shown, self._tilt)
        answers = plan.deal(thing, self.kind)
        (done.labels, *done.further_labels)[number][thing] = answers
        saved = await judging.exchange(
            "label_saved", type="label", position=position, ask=number, answers=answers
        )
        progress: dict[str, Any] = saved["progress"]
        return progress

    def _target_turns(self) -> int:
        """Number of replies after which this worker finishes or leaves."""
        least, most = self.replies
        if self.kind is Kind.LEAVING:
            return max(1, least // 2)
        return min(most, least + (self.number + self.number // 2) % 2)  # 0 1 1 0: bots are assigned in turns


def _picture(number: int) -> bytes:
    """A small PNG picture, different for each worker."""
    from PIL import Image  # no page needs it

    file = BytesIO()
    Image.new("RGB", (64, 48), (number % 256, number // 256 % 256, 128)).save(file, "PNG")
    return file.getvalue()


async def _reply(conversation: Conversation, *, after: int) -> int | None:
    """Wait for the position of the bot's next reply, and retry after failures; None after giving up."""
    while True:
        frame = await conversation.receive("bot_turn", "bot_failed", "state")
        # With two tabs a reply may arrive only as part of a state, or twice.
        turns = frame["turns"] if frame["type"] == "state" else [frame["turn"]] if "turn" in frame else []
        replies = [turn["position"] for turn in turns if turn["speaker"] == "bot"]
        position: int = max(replies, default=after)
        if position > after:
            return position
        fault = frame.get("fault")
        # A state repeats an earlier failure, which is new only after a reconnection.
        is_old = frame["type"] == "state" and (
            frame["progress"]["thinking"] or not conversation.is_reconnected
        )
        if not fault or is_old:
            continue
        if fault["may_give_up"]:
            await end_conversation(conversation, "give_up")
            return None
        await conversation.send(type="retry")


async def _choose_reply(conversation: Conversation, position: int, *, is_back: bool) -> None:
    """Ask for another reply, and go back to the first one if `is_back`; a lost request is left out."""
    await conversation.send(type="regenerate", position=position, key=str(uuid4()))
    while True:
        frame = await conversation.receive("bot_turn", "refused", "state")
        if frame["type"] != "state" or not frame["progress"]["thinking"]:
            break
    if is_back and frame.get("versions"):
        await conversation.send(type="keep_version", position=position, number=1)
        await conversation.receive("bot_turn", "refused")


def targets(study: Study, workers: int) -> dict[Bot, int]:
    """Target of conversations for each bot, in the study's proportions.

    Where a condition allows only some bots, each of them can take all workers: otherwise one of them could be
    full before the workers of its condition begin.
    """
    bots = active_bots_of(study)
    if not bots:
        raise UnrehearsableError(f"“{study.title}” has no active bot with a target. Choose one first.")
    if restricts(study.factors, "bots"):
        return {each.bot: workers for each in bots}
    all_wanted = sum(each.target for each in bots)
    return {each.bot: -(-workers * each.target // all_wanted) for each in bots}


def chatting_crowd(rehearsal: Study, server: str, workers: int) -> Crowd:
    names, link = bot_names(rehearsal), rehearsal.get_entry_url()
    systems = sorted(names.values())
    plans = [Plan(question_set(ask.question_set), systems, alone=True) for ask in rehearsal.work_asks]
    replies = ((rehearsal.min_turns + 1) // 2, rehearsal.max_turns // 2)

    @database_sync_to_async
    def bot_of(dialogue: str) -> str:
        bot_seats = DialogueSeat.objects.filter(dialogue__public_id=dialogue, bot__isnull=False)
        return names[bot_seats.values_list("bot_id", flat=True).get()]

    @database_sync_to_async
    def tilt(dialogue: str) -> float:
        return tilt_of(rehearsal.factors, conditions_of_dialogues(rehearsal, dialogue)[dialogue])

    def worker(number: int, seat: WorkerProfile) -> SimulatedWorker:
        return Chatter(
            number, seat.kind, server, link, plans=plans, replies=replies, bot_of=bot_of,
            tilt_of=tilt if rehearsal.factors else _no_tilt,
        )  # fmt: skip

    def further_findings(done: Sequence[Work], result: Mapping[str, Any]) -> list[Finding]:
        found = picture_findings(rehearsal, done) if rehearsal.takes_pictures else []
        if rehearsal.factors:
            found += condition_findings(plans, conditions_of_dialogues(rehearsal), result)
        return found

    return Crowd(
        plans[0],
        worker_profiles(workers, [""]),
        set(),
        worker,
        further_plans=plans[1:],
        further_findings=further_findings,
    )


def conditions_of_dialogues(rehearsal: Study, public_id: str = "") -> dict[str, Condition]:
    """By public id of a conversation, the condition of its worker; only of one if it is given."""
    seats = DialogueSeat.objects.filter(dialogue__study=rehearsal, assignment__isnull=False)
    if public_id:
        seats = seats.filter(dialogue__public_id=public_id)
    rows = seats.values_list("dialogue__public_id", "assignment__participation__condition")
    return {str(dialogue): condition for dialogue, condition in rows}


def picture_findings(rehearsal: Study, done: Sequence[Work]) -> list[Finding]:
    """Compare the pictures that the workers sent with those of the conversations, which must be equal."""
    sent = sum(work.pictures for work in done)
    stored = MessagePicture.objects.filter(picture__seat__dialogue__study=rehearsal).count()
    verdict = "as many" if stored == sent else "NOT as many"
    return [
        Finding(
            stored == sent,
            f"Pictures: the workers sent {sent} with their messages, and the conversations show {stored}, "
            f"{verdict}.",
        )
    ]
