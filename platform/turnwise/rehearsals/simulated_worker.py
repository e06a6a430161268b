"""What simulated workers say of themselves.

A worker as a program: from the study link through the pages to the socket.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from evaluation.questions import QuestionSet
from turnwise.rehearsals.injected_effects import Answers, Kind, Plan
from turnwise.rehearsals.page_visitor import Page, PageError, Visitor

EVERYBODY = "everybody"
SETTINGS = "questionnaire-settings"
NOT_TAKEN = 422
LEAVES_OUT = 5
"""One worker of so many leaves out what need not be answered."""


@dataclass
class People:
    """What a study asks people about themselves.

    Attributes:
        plans: by question set, what they are dealt.
        left_out: by question set, how many of them left it out.
    """

    plans: Mapping[str, Plan] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    _one_by_one: Any = field(default_factory=Lock)

    @classmethod
    def asked(cls, sets: Iterable[QuestionSet]) -> "People":
        return cls({each.key: Plan(each, [EVERYBODY], alone=True) for each in sets})

    def answered(self, visitor: Visitor, page: Page, number: int) -> Page:
        """From a page with questions about the worker to what follows it; any other page as it is."""
        if SETTINGS not in page.scripts:
            return page
        asked = page.settings()["sets"]
        with self._one_by_one:
            dealt = {each["key"]: self._dealt(each, number) for each in asked}
        sent = {key: {"answers": answers} for key, answers in dealt.items()}
        try:
            return visitor.submit(page, page.form(page.address), answers=json.dumps(sent))
        except PageError as error:
            if error.status == NOT_TAKEN:
                dealt = {}
            raise  # there was nothing left to do; what they said of themselves is stored
        finally:
            with self._one_by_one:
                for key, answers in dealt.items():
                    self._note(key, number, answers)

    def _dealt(self, asked: Mapping[str, Any], number: int) -> Answers | None:
        if not asked["required"] and number % LEAVES_OUT == 0:
            return None
        plan = self.plans[asked["key"]]
        plan.meet(str(number), EVERYBODY)
        return plan.deal(str(number), Kind.CAREFUL)

    def _note(self, key: str, number: int, answers: Answers | None) -> None:
        if answers is None:
            self.left_out[key] += 1
        else:
            self.plans[key].note(str(number), Kind.CAREFUL, answers)


REPLY_SECONDS = 120.0
OUTAGE_SECONDS = 120.0
# The server ends a connection that sends more than a burst of 40 frames and then 5 a second.
FRAMES_AT_ONCE, PAUSE = 30, 0.25

# Seconds, as static/js/kit/connection.js has them, and from which code on it does not come back.
FIRST_WAIT, LONGEST_WAIT, HANDSHAKE = 0.25, 2.0, 20.0
REFUSED_FROM = 4400
LOST = (OSError, WebSocketException)  # a timeout is an OSError, too

# What is sent again by who comes back, unless the server has said what became of it, by such a frame or by a
# state: an end by the state that leads on.
ACKNOWLEDGED = {
    "turn": "turn_saved",
    "label": "label_saved",
    "judge": "judged",
    "write": "written",
    "finish": "",
    "give_up": "",
    "end_alone": "",
}


class MismatchError(Exception):
    """The server does not answer, hold or report what it should."""


def enter(
    server: str, link: str, *, people: People | None = None, number: int = 0, language: str = ""
) -> tuple[Visitor, dict[str, Any]]:
    """From the study link to the page of the work, through the forms of the pages; that page's settings.

    Args:
        server: address of the server.
        link: path of the study link.
        people: what the study asks about them; None: nothing.
        number: which of them they are.
        language: what to choose where the study asks which language one reads.
    """
    worker = Visitor(server, waits=OUTAGE_SECONDS)
    welcome = worker.get(link)
    instructions = worker.submit(welcome, welcome.form("consent/"), agree="yes")
    page = worker.submit(instructions, instructions.form("start/"))
    if people:
        page = people.answered(worker, page, number)
    if "language" in page.buttons:
        page = worker.submit(page, page.form("start/"), language=language)
    return worker, page.settings()


def socket_of(worker: Visitor, settings: dict[str, Any]) -> connect:
    """The socket of the page, opened as its browser would."""
    address = "ws" + worker.server.removeprefix("http").rstrip("/") + settings["socket"]
    headers = {"Cookie": worker.cookie_header(), "Origin": worker.server.rstrip("/")}
    # A page takes in all that comes. Who leaves frames unread would stop answering pings, and be cut off.
    return connect(address, additional_headers=headers, open_timeout=HANDSHAKE, max_queue=None)


class Conversation:
    """A worker's tab. Frames go out one by one, as a person sends them.

    A lost socket is opened again, as the page does it: after waits that double, and what the server has not
    acknowledged is sent once more.

    Attributes:
        noted: told of every frame that comes, also of those that nobody waits for.
        returned: whether the newest state is the first one after a socket was lost.
    """

    def __init__(self, worker: Visitor, settings: dict[str, Any]) -> None:
        self.noted: Callable[[dict[str, Any]], None] = lambda frame: None
        self._open = partial(socket_of, worker, settings)
        self._socket: ClientConnection | None = None
        self._sent = 0
        self._held: dict[str, Any] | None = None
        self._has_come_back = self.returned = False
        self._wait = 0.0

    async def __aenter__(self) -> Self:
        async with asyncio.timeout(REPLY_SECONDS):
            await self._opened()
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._socket:
            await self._socket.close()

    async def _opened(self) -> ClientConnection:
        while self._socket is None:
            await asyncio.sleep(self._wait)
            self._wait = min(2 * self._wait, LONGEST_WAIT) or FIRST_WAIT
            with suppress(*LOST):
                self._socket = await self._open()
                self._sent = 0
        return self._socket

    async def send(self, **frame: Any) -> None:
        if self._sent > FRAMES_AT_ONCE:
            await asyncio.sleep(PAUSE)
        if frame["type"] in ACKNOWLEDGED:
            self._held = frame
        await self._sent_now(frame)

    async def _sent_now(self, frame: dict[str, Any]) -> None:
        self._sent += 1
        with suppress(*LOST):  # noticed by who waits for the answer
            if self._socket:
                await self._socket.send(json.dumps(frame))

    async def heard(self, *kinds: str) -> dict[str, Any]:
        """The next frame of one of these kinds; of others only a question whether one is there is answered.

        Raises:
            MismatchError: a refusal, or a failed bot that was not asked for.
        """
        async with asyncio.timeout(REPLY_SECONDS):
            while True:
                answer = await self._next()
                self.noted(answer)
                await self._settle(answer)
                if answer["type"] in kinds:
                    return answer
                if answer["type"] == "are_you_there":
                    await self.send(type="here")
                if answer["type"] in ("refused", "bot_failed"):
                    raise MismatchError(f"The server answered with {answer}.")

    async def _next(self) -> dict[str, Any]:
        """The next frame, over as many sockets as it takes."""
        while True:
            socket = await self._opened()
            try:
                frame: dict[str, Any] = json.loads(await socket.recv())
                return frame
            except LOST as lost:
                if isinstance(lost, ConnectionClosed) and lost.rcvd and lost.rcvd.code >= REFUSED_FROM:
                    raise
                self._socket, self._has_come_back = None, True

    async def _settle(self, answer: dict[str, Any]) -> None:
        """Let go of what this answers; who has come back sends what is still held."""
        if self._held and _answers(answer, self._held):
            self._held = None
        if answer["type"] != "state":
            return
        self._wait = FIRST_WAIT
        if self._held and self._has_come_back:
            await self._sent_now(self._held)
        self.returned, self._has_come_back = self._has_come_back, False

    async def exchange(self, awaited: str, **frame: Any) -> dict[str, Any]:
        await self.send(**frame)
        return await self.heard(awaited)


def _answers(answer: dict[str, Any], sent: dict[str, Any]) -> bool:
    """Whether the server says by this frame what became of one that was sent."""
    if answer["type"] == "state":
        is_there = any(turn["key"] == sent.get("key", "") for turn in answer.get("turns", ()))
        return is_there or bool(answer.get("finished"))
    return answer["type"] in ("refused", ACKNOWLEDGED[sent["type"]])
