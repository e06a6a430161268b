"""How simulated workers judge the items of a queue, one after the other."""

from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from reports.rehearsal.planted import Answers, Kind
from reports.rehearsal.simulated import SimulatedWorker, Work
from reports.rehearsal.visitor import PageError
from reports.rehearsal.worker import Conversation, MismatchError

# What the server says to those who come when nothing is left for them.
NOTHING_LEFT = 409
# Every so many items an answer slips out and is taken back.
SLIP_EVERY = 7
# Refusals that a worker gets without having done wrong: others were faster while they were away.
PASSED_ON = ("given_away", "judged_elsewhere")


@dataclass
class Tab:
    """One page of a worker, with the items that it has still to show."""

    socket: Conversation
    waiting: list[str]


@dataclass
class Rater(SimulatedWorker):
    """Someone who judges items. With two tabs they take the next item from the one and the other in turns.

    So what one tab still shows is judged a second time there, and must count once.
    """

    @override
    async def work(self) -> Work:
        try:
            return await super().work()
        except PageError as error:
            if error.status != NOTHING_LEFT:
                raise
            return Work(self.kind)

    @override
    async def walk(self, tabs: list[Conversation], settings: dict[str, Any], done: Work) -> str:
        done.place = settings["batch"]
        states = [await socket.heard("state") for socket in tabs]
        opened = [Tab(socket, _keys(state["items"])) for socket, state in zip(tabs, states, strict=True)]
        enough = max(1, states[0]["progress"]["size"] // 2) if self.kind is Kind.LEAVING else None
        while True:
            await self._judge_all(opened, done, enough)
            if self.kind is Kind.LEAVING:
                return ""
            if thanks := await _finished(opened[0]):
                return thanks

    async def _judge_all(self, tabs: list[Tab], done: Work, enough: int | None) -> None:
        turn = 0
        while any(tab.waiting for tab in tabs) and (enough is None or len(done.labels) < enough):
            tab, turn = tabs[turn % len(tabs)], turn + 1
            if tab.waiting:
                await self._judge(tab, tab.waiting.pop(0), done)

    async def _judge(self, tab: Tab, item: str, done: Work) -> None:
        answers = done.labels.get(item) or self.plan.deal(item, self.kind)
        if len(done.labels) % SLIP_EVERY == SLIP_EVERY - 1 and not await _saved(
            tab, item, self.plan.slip(answers)
        ):
            return
        if await _saved(tab, item, answers):
            done.labels[item] = answers


async def _saved(tab: Tab, item: str, answers: Answers) -> bool:
    """Judge an item; False if it went to somebody else meanwhile."""
    await tab.socket.send(type="judge", item=item, answers=answers)
    heard = await tab.socket.heard("judged", "refused")
    if heard["type"] == "judged":
        tab.waiting += _keys(heard["leased"])
        return True
    if heard["reason"] not in PASSED_ON:
        raise MismatchError(f"The server answered with {heard}.")
    tab.waiting = _keys((await tab.socket.heard("state"))["items"])
    return False


async def _finished(tab: Tab) -> str:
    """The page to go to; empty if an item has become free for this worker meanwhile."""
    await tab.socket.send(type="finish")
    heard = await tab.socket.heard("state", "refused")
    if heard["type"] == "refused":
        if heard["reason"] != "unjudged":
            raise MismatchError(f"The server answered with {heard}.")
        tab.waiting = _keys((await tab.socket.heard("state"))["items"])
        return ""
    thanks: str = heard["finished"]
    return thanks


def _keys(items: list[dict[str, Any]]) -> list[str]:
    return [item["key"] for item in items]
