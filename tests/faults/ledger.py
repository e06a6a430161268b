"""A worker's browser as a program that notes everything that it was told is saved, and never gives up."""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import uuid4

from websockets.asyncio.client import ClientConnection

from turnwise.rehearsals.page_visitor import Visitor
from turnwise.rehearsals.simulated_worker import FIRST_WAIT, LONGEST_WAIT, LOST, open_work_page, socket_of

SILENCE = 8.0  # as static/js/kit/connection.js has it
RETRY_SECONDS = 2.0
PAUSE_SECONDS = 0.5  # two frames each: a page that sends more than five a second is stopped
REPLY_SECONDS = 30.0

Frame = dict[str, Any]
Turn = tuple[str, str]  # who says what


class BrokenPromiseError(Exception):
    """Something that was shown as saved is not there, is there twice, or reads otherwise."""


@dataclass
class Ledger:
    """What a worker was told is saved: turns and answers by position, and the end."""

    turns: dict[int, Turn] = field(default_factory=dict)
    labels: dict[int, Frame] = field(default_factory=dict)
    ended: bool = False

    def compare(self, turns: dict[int, Turn], labels: dict[int, Frame]) -> None:
        """See that what is there now has all that was promised, as it was promised.

        Raises:
            BrokenPromiseError: it has not.
        """
        for name, promised, found in (("turn", self.turns, turns), ("label", self.labels, labels)):
            for position, saved in promised.items():
                if found.get(position) != saved:
                    raise BrokenPromiseError(
                        f"The {name} at {position} was {saved!r} and is now {found.get(position)!r}."
                    )


class Chatter:
    """Talks, answers the question under each reply, and ends when told that it is enough."""

    may_be_refused: frozenset[str] = frozenset()
    """Reasons that can come of what others do at the same moment."""

    def __init__(self, server: str, link: str, name: str) -> None:
        """Enter the study through its pages."""
        self.name = name
        self.ledger = Ledger()
        self.browser: Visitor
        self.browser, self.settings = self.come_in(server, link)
        self.is_enough = False
        self.broken: list[str] = []
        self.exchanges: list[tuple[float, float]] = []
        """When each message was written, and when the answers to its reply were saved."""
        self._numbers = count(1)
        self._pending: tuple[str, str] | None = None
        self._written_at = 0.0
        self.last: Frame = {}
        """The frame that came last, for the message of a test that fails."""

    def come_in(self, server: str, link: str) -> tuple[Visitor, Frame]:
        return open_work_page(server, link)

    def has_said_enough(self) -> bool:
        return self.is_enough

    def next_text(self) -> str:
        return f"{self.name} says thing number {next(self._numbers)}."

    @property
    def dialogue(self) -> str:
        return str(self.settings["dialogue"])

    def went_on_after(self, moment: float) -> float | None:
        """When the first exchange was complete that began after this moment."""
        return next((done for written, done in self.exchanges if written > moment), None)

    async def talk(self) -> None:
        """Until the conversation has ended, over as many sockets as it takes."""
        wait = FIRST_WAIT
        while not self.ledger.ended:
            before = len(self.exchanges)
            with suppress(*LOST):
                async with socket_of(self.browser, self.settings) as socket:
                    await self._talk_over(socket)
            if not self.ledger.ended:
                wait = FIRST_WAIT if len(self.exchanges) > before else min(2 * wait, LONGEST_WAIT)
                await asyncio.sleep(wait)

    async def _talk_over(self, socket: ClientConnection) -> None:
        frame = await self._heard(socket, "state")
        self._take(frame)
        while not self.ledger.ended:
            progress = frame["progress"]
            if frame.get("fault") and not progress["thinking"]:
                await asyncio.sleep(RETRY_SECONDS)
                await self._send(socket, type="retry")
                frame = await self._heard(socket, "state")
            elif progress["thinking"]:
                frame = await self._heard(socket, "bot_turn", "bot_failed", "state", seconds=REPLY_SECONDS)
            elif progress["unlabelled"]:
                frame = await self._label(socket, progress["unlabelled"][0])
            elif self.has_said_enough() and progress["may_finish"] and not self._pending:
                await self._send(socket, type="finish")
                frame = await self._heard(socket, "state")
            else:
                await asyncio.sleep(PAUSE_SECONDS)
                frame = await self._write(socket)
            self._take(frame)

    async def _write(self, socket: ClientConnection) -> Frame:
        if self._pending is None:
            self._pending = (str(uuid4()), self.next_text())
            self._written_at = time.monotonic()
        key, text = self._pending
        await self._send(socket, type="turn", key=key, text=text)
        saved = await self._heard(socket, "turn_saved")
        self._pending = None
        # A reply that was saved with it is on its way, and is waited for all the same.
        return saved | {"progress": saved["progress"] | {"thinking": True}}

    async def _label(self, socket: ClientConnection, position: int) -> Frame:
        answers = {"sensible": True, "specific": position % 4 == 0}
        await self._send(socket, type="label", position=position, answers=answers)
        saved = await self._heard(socket, "label_saved")
        self.ledger.labels[saved["position"]] = saved["answers"]
        self.exchanges.append((self._written_at, time.monotonic()))
        return saved

    def _note(self, turn: Frame) -> None:
        promised = self.ledger.turns.setdefault(turn["position"], (turn["speaker"], turn["text"]))
        if promised != (turn["speaker"], turn["text"]):
            self._complain(f"position {turn['position']} was {promised!r} and is {turn['text']!r}")

    def _take(self, frame: Frame) -> None:
        """Note what a frame shows as saved; a state also has to hold all that was noted."""
        if "turn" in frame:
            self._note(frame["turn"])
        if frame["type"] != "state":
            return
        turns = {turn["position"]: (turn["speaker"], turn["text"]) for turn in frame["turns"]}
        labels = {each["position"]: each["answers"] for each in frame["annotations"]}
        try:
            self.ledger.compare(turns, labels)
        except BrokenPromiseError as broken:
            self._complain(str(broken))
        for turn in frame["turns"]:
            self._note(turn)
        if self._pending and self._pending[0] in {turn["key"] for turn in frame["turns"]}:
            self._pending = None
        self.ledger.ended = bool(frame["finished"])

    def _complain(self, what: str) -> None:
        self.broken.append(f"{self.name}: {what}")

    async def _send(self, socket: ClientConnection, **frame: Any) -> None:
        await socket.send(json.dumps(frame))

    async def _heard(self, socket: ClientConnection, *kinds: str, seconds: float = SILENCE) -> Frame:
        async with asyncio.timeout(seconds):
            while True:
                frame: Frame = json.loads(await socket.recv())
                self.last = frame
                if frame["type"] in kinds:
                    return frame
                if frame["type"] == "refused":
                    if frame["reason"] not in self.may_be_refused:
                        self._complain(f"refused: {frame['reason']}")
                    raise TimeoutError
