"""People from three panels who work well, badly, twice, in pairs or not to the end, as programs.

Each holds on as a person would whose page does not answer: they load it again in the same browser.
"""

import asyncio
import hashlib
import hmac
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from html import unescape
from http.client import HTTPException
from typing import TypeVar

from typing_extensions import override
from websockets.asyncio.client import ClientConnection

from evaluation.quality.signs import FEWEST
from tests.faults.ledger import PAUSE_SECONDS, Chatter, Frame
from turnwise.rehearsals.page_visitor import Page, PageError, Visitor
from turnwise.rehearsals.simulated_worker import LOST, socket_of

PATIENCE = 90.0
PANELS = ("prolific", "url", "invited")
SECRET = "a secret of the panel"
BACK = "https://panel.example/back?pid={id}&how={outcome}&code={code}"
CODES = {"complete": "D0NE1234", "withdrawn": "W1THDREW"}
_BACK = re.compile(r'href="(https://(?:app\.prolific\.com|panel\.example)/[^"]+)"')

Answer = TypeVar("Answer")


class Way(Enum):
    """How somebody goes about it."""

    GOOD = auto()
    SAME = auto()  # says "ok" all the time
    MACHINE = auto()  # lets a language model write
    LEAVES = auto()
    VANISHES = auto()
    TWICE = auto()
    PAIR = auto()
    PAIR_LEAVES = auto()
    PAIR_IS_LEFT = auto()


OUTCOME = {
    Way.LEAVES: "withdrawn", Way.VANISHES: "", Way.PAIR_LEAVES: "withdrawn", Way.PAIR_IS_LEFT: "partner_left",
}  # fmt: skip
"""All others complete their work."""
IN_PAIRS = (Way.PAIR, Way.PAIR_LEAVES, Way.PAIR_IS_LEFT)
DOZEN = (
    Way.GOOD, Way.SAME, Way.TWICE, Way.LEAVES, Way.GOOD, Way.VANISHES, Way.TWICE, Way.MACHINE,
    Way.PAIR, Way.PAIR, Way.PAIR_LEAVES, Way.PAIR_IS_LEFT,
)  # fmt: skip


class GoneError(Exception):
    """Somebody closes the page and never comes back."""


@dataclass(frozen=True)
class Place:
    """Somebody who is to take part, and what is to come of it."""

    number: int
    way: Way
    code: str
    token: str

    @property
    def panel(self) -> str:
        return PANELS[self.number % 3]

    @property
    def id(self) -> str:
        return f"person-{self.number}"

    @property
    def outcome(self) -> str:
        return OUTCOME.get(self.way, "complete")

    def link(self, session: str = "first", secret: str = SECRET) -> str:
        session = f"{self.id}-{session}"
        if self.panel == "prolific":
            return f"/s/{self.code}/?PROLIFIC_PID={self.id}&STUDY_ID=theirs&SESSION_ID={session}"
        if self.panel == "invited":
            return f"/s/{self.code}/?invitation={self.token}"
        message = f"{self.code}:{self.id}:{session}".encode()
        signature = hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()
        return f"/s/{self.code}/?pid={self.id}&session={session}&signature={signature}"

    def way_back(self, own_code: str) -> str:
        """What the last page leads to, or has them copy."""
        own_code = "" if self.outcome == "withdrawn" else own_code
        if self.panel == "prolific":
            return f"https://app.prolific.com/submissions/complete?cc={CODES.get(self.outcome, 'D0NE1234')}"
        if self.panel == "url":
            return BACK.format(id=self.id, outcome=self.outcome, code=own_code)
        return own_code


def patiently(step: Callable[[], Answer]) -> Answer:
    """Until the server answers: a refusal is an answer."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return step()
        except (PageError, OSError, HTTPException) as error:
            if (isinstance(error, PageError) and 400 <= error.status < 500) or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


class Person(Chatter):
    """Somebody who talks with a bot."""

    def __init__(self, server: str, place: Place, may_finish: threading.Event) -> None:
        self.place = place
        self.may_finish = may_finish
        self.way_back = ""
        super().__init__(server, place.link(), place.id)

    @override
    def come_in(self, server: str, link: str) -> tuple[Visitor, Frame]:
        browser = Visitor(server)
        return browser, patiently(lambda: self._walk_in(browser).settings())

    def _walk_in(self, browser: Visitor) -> Page:
        page = browser.get(self.place.link())
        for form in ("consent/", "start/"):
            if any(each.action.endswith(form) for each in page.forms):
                page = browser.submit(
                    page, page.form(form), **({"agree": "yes"} if form == "consent/" else {})
                )
        return page

    @override
    def has_said_enough(self) -> bool:
        """Every other one is at work all the while in which the parts are killed."""
        if self.place.outcome != "complete":
            return False
        enough = FEWEST if self.place.way is Way.MACHINE else 2
        return len(self.exchanges) >= enough and (self.place.number % 2 == 0 or self.may_finish.is_set())

    @override
    def next_text(self) -> str:
        if self.place.way is Way.MACHINE:
            return f"Certainly! {super().next_text()}"
        return "ok" if self.place.way is Way.SAME else super().next_text()

    @override
    async def _write(self, socket: ClientConnection) -> Frame:
        if len(self.exchanges) >= 2 and self.place.way is Way.VANISHES:
            raise GoneError
        if len(self.exchanges) >= 2 and self.place.way is Way.LEAVES:
            self.ledger.ended = await asyncio.to_thread(patiently, self._leave)
            raise TimeoutError
        return await super()._write(socket)

    def _leave(self) -> bool:
        """Whether the last page is there."""
        page = self.browser.get(f"/s/{self.place.code}/leave/")
        if any(each.action.endswith("leave/") for each in page.forms):
            page = self.browser.submit(page, page.form("leave/"))
        return page.address.endswith("/thanks/")

    async def take_part(self) -> "Person":
        try:
            await self.talk()
        except GoneError:
            return self
        await asyncio.to_thread(self._look_at_the_end)
        return self

    def _look_at_the_end(self) -> None:
        page = patiently(lambda: self.browser.get(f"/s/{self.place.code}/thanks/"))
        found = _BACK.search(page.text)
        self.way_back = unescape(found[1]) if found else page.values.get("completion-code", "")
        if self.place.way is Way.TWICE:
            self._come_again()

    def _come_again(self) -> None:
        again = patiently(lambda: self.browser.get(self.place.link()))
        if not again.address.endswith("/thanks/"):
            self._complain(f"came back to {again.address}")
        stranger = Visitor(self.browser.server)
        page = patiently(lambda: stranger.get(self.place.link("second")))
        if any(form.action.endswith("consent/") for form in page.forms):
            self._complain("may begin in a second browser")
        if self.place.panel != "invited":
            with suppress(PageError):
                self._complain(patiently(lambda: self.browser.get(self.place.link("second"))).address)


class Half(Person):
    """One of two who talk with each other."""

    may_be_refused = frozenset({"partner_finished"})  # while this one was still writing
    has_met = False
    is_left = False

    @override
    async def talk(self) -> None:
        while not self.ledger.ended:
            with suppress(*LOST):
                _, self.settings = await asyncio.to_thread(self._found)
                if self.ledger.ended:
                    return
                async with socket_of(self.browser, self.settings) as socket:
                    await (self._wait if "lobby" in self.settings["socket"] else self._talk_over)(socket)
            await asyncio.sleep(PAUSE_SECONDS)

    def _found(self) -> tuple[Page, Frame]:
        page = patiently(lambda: self._walk_in(self.browser))
        self.ledger.ended = page.address.endswith("/thanks/")
        return page, {} if self.ledger.ended else page.settings()

    async def _wait(self, socket: ClientConnection) -> None:
        while (frame := await self._heard(socket, "are_you_there", "met", "over"))["type"] == "are_you_there":
            await self._send(
                socket, type="here", **({"meeting": frame["meeting"]} if "meeting" in frame else {})
            )

    @override
    async def _talk_over(self, socket: ClientConnection) -> None:
        self.has_met = True
        frame = await self._heard(socket, "state")
        while True:
            self._take(frame)
            if self.ledger.ended:
                return
            frame = await self._step(socket, frame, frame["progress"])

    async def _step(self, socket: ClientConnection, frame: Frame, progress: Frame) -> Frame:
        if progress["unlabelled"]:
            return await self._label(socket, progress["unlabelled"][0])
        may_leave = self.place.way is Way.PAIR_LEAVES and self.may_finish.is_set()
        if may_leave and len(self.exchanges) >= 2:
            self.ledger.ended = await asyncio.to_thread(patiently, self._leave)
            raise TimeoutError
        if self.is_left:
            await self._send(socket, type="end_alone")
            return await self._heard(socket, "state")
        may_finish = progress["closing"] or (self.has_said_enough() and not self._pending)
        if may_finish and progress["may_finish"]:
            await self._send(socket, type="finish")
            return await self._heard(socket, "state")
        if progress["may_send"]:
            await asyncio.sleep(PAUSE_SECONDS)
            saved = await self._write(socket)
            return saved | {"progress": saved["progress"] | {"may_send": False}}
        return await self._listen(socket, frame)

    async def _listen(self, socket: ClientConnection, frame: Frame) -> Frame:
        """Until the other has done something."""
        while (heard := await self._heard(socket, "are_you_there", "partner", "partner_turn", "state"))[
            "type"
        ] in ("are_you_there", "partner"):
            if heard["type"] == "are_you_there":
                await self._send(socket, type="here")
            elif heard["left"] and self.place.way is Way.PAIR_IS_LEFT:
                self.is_left = True
                return frame
        return heard

    @override
    def has_said_enough(self) -> bool:
        return self.place.way is Way.PAIR and len(self.exchanges) >= 2 and self.may_finish.is_set()


async def take_part(server: str, places: list[Place], may_finish: threading.Event) -> list[Person]:
    """All of them at once; two by two those who are to meet each other."""
    alone = [place for place in places if place.way not in IN_PAIRS]
    pairs = [place for place in places if place.way in IN_PAIRS]

    async def one(place: Place) -> Person:
        return await (await asyncio.to_thread(Person, server, place, may_finish)).take_part()

    async def two_by_two() -> list[Person]:
        talks = []
        for first, second in zip(pairs[::2], pairs[1::2], strict=True):
            both = [await asyncio.to_thread(Half, server, each, may_finish) for each in (first, second)]
            talks += [asyncio.create_task(half.take_part()) for half in both]
            while not all(half.has_met for half in both):
                await asyncio.sleep(0.05)
        return await asyncio.gather(*talks)

    people, halves = await asyncio.gather(asyncio.gather(*map(one, alone)), two_by_two())
    return [*people, *halves]
