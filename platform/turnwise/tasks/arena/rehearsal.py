"""Simulated workers who write to two bots at once and vote, with preferences between every two bots."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any
from uuid import uuid4

from channels.db import database_sync_to_async
from typing_extensions import override

from evaluation.report.studies.pairs import name_of
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Battle, Seat
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.models import JudgingPlan
from turnwise.questions.question_sets import question_set
from turnwise.rehearsals.injected_effects import Answers, Kind
from turnwise.rehearsals.rehearsed_task import (
    FEWEST_WORKERS,
    Crowd,
    UnrehearsableError,
    WorkerProfile,
    worker_profiles,
)
from turnwise.rehearsals.services import copy_study
from turnwise.rehearsals.simulated_worker import Conversation
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.studies.models import Study
from turnwise.studies.queries import active_bots_of
from turnwise.tasks.conversation.rehearsal import SENTENCES
from turnwise.tasks.pairs.rehearsal import PairPlan

BATTLES_OF_A_PAIR = 60
"""Votes about every two bots that a suggested rehearsal collects at least."""
FEWEST_BATTLES = 2
"""Fewest battles of a worker: with less, they could not leave halfway."""

SidesOf = Callable[[str, int], Awaitable[tuple[str, str]]]
"""Reads the report's names of the bots of a battle, left and right, which workers do not know."""


@dataclass
class Voter(SimulatedWorker):
    """A worker of battles. With two tabs they write in one and vote in the other.

    Attributes:
        plans: dealt answers of each ask, in the study's order.
        messages: for each battle, the numbers of messages after which they vote, in rising order.
        sides_of: reads the bots of a battle.
    """

    may_come_in_vain = True

    plans: Sequence[PairPlan]
    messages: Sequence[int]
    sides_of: SidesOf

    @override
    async def do_work(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        done.work_id, done.further_labels = settings["name"], [{} for _ in self.plans[1:]]
        state = await tabs[0].receive("state")
        enough = state["progress"]["size"] // 2 if self.kind is Kind.LEAVING else None
        while state["battle"] is not None:
            if enough is not None and state["progress"]["done"] >= enough:
                return ""
            number = state["battle"]
            for messages in self.messages:
                state = await self._talk(tabs[0], state, messages)
                await self._vote(tabs[-1], number, messages, done)
                state = await _until(tabs[0], partial(_has_vote, number, messages))
            if state["battle"] == number:
                await tabs[0].send(type="anew", battle=number)
                state = await _until(tabs[0], partial(_is_past, number))
        await tabs[0].send(type="finish")
        thanks: str = (await _until(tabs[0], lambda frame: frame["finished"]))["finished"]
        return thanks

    async def _talk(self, tab: Conversation, state: dict[str, Any], messages: int) -> dict[str, Any]:
        """Write up to so many messages of a battle, and wait for both replies to each."""
        number = state["battle"]
        while (sent := len(state["turns"])) < messages or state["thinking"] or state["fault"]:
            if state["fault"]:
                await tab.send(type="retry", battle=number)
            elif state["may_send"]:
                text, key = SENTENCES[(self.number + number + sent) % len(SENTENCES)], str(uuid4())
                await tab.send(type="turn", battle=number, key=key, text=text)
                state = await _until(tab, partial(_has_message, key))  # an older state may come first
                continue
            state = await tab.receive("state")
        return state

    async def _vote(self, tab: Conversation, number: int, exchange: int, done: Work) -> None:
        left, right = await self.sides_of(done.code, number)
        is_straight, is_swapped = self.kind is Kind.STRAIGHT_LINING, left > right

        def turned(plan: PairPlan, answers: Answers) -> Answers:
            return plan.turned(answers) if is_swapped else answers

        labels = done.labels, *done.further_labels
        for ask, plan in enumerate(self.plans):
            thing = f"{done.work_id} {number} {exchange}"
            plan.meet(thing, name_of(left, right))
            sent = plan.first_answers() if is_straight else turned(plan, plan.deal(thing, self.kind))
            labels[ask][thing] = turned(plan, sent)
            await tab.send(type="vote", battle=number, exchange=exchange, ask=ask, answers=sent)


def _is_past(number: int, frame: dict[str, Any]) -> bool:
    """True if the battle with this number is over."""
    return bool(frame["battle"] != number)


def _has_message(key: str, frame: dict[str, Any]) -> bool:
    """True if the battle has the message with this key."""
    return any(turn["key"] == key for turn in frame.get("turns", ()))


def _has_vote(number: int, exchange: int, frame: dict[str, Any]) -> bool:
    """True if the battle has its vote after so many messages, or is over."""
    if frame["battle"] != number:
        return True
    return bool(frame["exchange"] == exchange and not frame["may_vote"])


async def _until(tab: Conversation, holds: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    while not holds(frame := await tab.receive("state")):
        pass
    return frame


def enough_workers(study: Study) -> int:
    """Number of workers who give every two bots enough votes."""
    bots, plan = active_bots_of(study).count(), JudgingPlan.objects.filter(study=study).first()
    if plan is None or bots < 2:
        return FEWEST_WORKERS
    battles = BATTLES_OF_A_PAIR * bots * (bots - 1) // 2
    return max(FEWEST_WORKERS, -(-battles // max(FEWEST_BATTLES, plan.batch_size)))


def copy_with_bots(study: Study, workers: int) -> Study:
    """Copy the study with targets for this many workers, in the study's proportions.

    Raises:
        UnrehearsableError: the study has fewer than two active bots, or no plan.
    """
    rows, plan = list(active_bots_of(study)), JudgingPlan.objects.filter(study=study).first()
    if len(rows) < 2 or plan is None:
        raise UnrehearsableError(f"“{study.title}” needs two active bots with a target. Choose them first.")
    size = max(FEWEST_BATTLES, plan.batch_size)
    all_wanted = sum(row.target for row in rows)
    places = 2 * workers * size
    copy = copy_study(study, {row.bot: -(-places * row.target // all_wanted) for row in rows})
    JudgingPlan.objects.create(
        study=copy, raters_per_item=1, batch_size=size, judges_each_exchange=plan.judges_each_exchange
    )
    return copy


def voters(rehearsal: Study, server: str, workers: int) -> Crowd:
    """Simulated workers; the injected effect is a preference between every two bots."""
    systems = sorted({name_of(*pair) for pair in combinations(sorted(_titles(rehearsal)), 2)})
    plans = [
        PairPlan(question_set(ask.question_set), systems, alone=True, counts_unfinished=True)
        for ask in asks_of_readers(rehearsal)
    ]
    link, votes_after = rehearsal.get_entry_url(), _votes_after(rehearsal)

    @database_sync_to_async
    def sides_of(code: str, number: int) -> tuple[str, str]:
        participation = Participation.objects.get(resume_code=code, study=rehearsal)
        battle = Battle.objects.get(assignment__participation=participation, number=number)
        bots = Seat.objects.filter(bot__isnull=False)
        titles = bots.values_list("bot__title", flat=True)
        return titles.get(dialogue=battle.left_id), titles.get(dialogue=battle.right_id)

    def worker(number: int, seat: WorkerProfile) -> SimulatedWorker:
        messages = votes_after[: 1 + number % 2]  # every other worker goes on after the first vote
        return Voter(number, seat.kind, server, link, plans=plans, messages=messages, sides_of=sides_of)

    return Crowd(plans[0], worker_profiles(workers, [""]), set(), worker, further_plans=plans[1:])


def _votes_after(study: Study) -> list[int]:
    """Numbers of messages after which simulated workers vote in a battle: one, or up to two."""
    first, most = study.min_turns // 2, study.max_turns // 2
    return [first, first + 1] if study.judging.judges_each_exchange and first < most else [first]


def _titles(study: Study) -> list[str]:
    return [row.bot.title for row in active_bots_of(study)]
