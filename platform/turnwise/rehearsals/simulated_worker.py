"""Browser side of a simulated worker: from the study link through the pages to the socket.

It also answers questionnaires about the worker.
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
"""One worker in this many skips optional questionnaires."""


@dataclass
class SelfReports:
    """Answers of simulated workers to questionnaires about themselves.

    Attributes:
        plans: dealt answers by question set key.
        left_out: number of workers who skipped the question set, by its key.
    """

    plans: Mapping[str, Plan] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    _one_by_one: Any = field(default_factory=Lock)

    @classmethod
    def about(cls, sets: Iterable[QuestionSet]) -> "SelfReports":
        return cls({each.key: Plan(each, [EVERYBODY], alone=True) for each in sets})

    def answer_page(self, visitor: Visitor, page: Page, number: int) -> Page:
        """Answer a questionnaire page and return the next page; any other page is returned unchanged."""
        if SETTINGS not in page.scripts:
            return page
        question_sets = page.settings()["sets"]
        with self._one_by_one:
            dealt = {each["key"]: self._dealt(each, number) for each in question_sets}
        sent = {key: {"answers": answers} for key, answers in dealt.items()}
        try:
            return visitor.submit(page, page.form(page.address), answers=json.dumps(sent))
        except PageError as error:
            if error.status == NOT_TAKEN:
                dealt = {}
            raise  # no work was left; the answers are stored unless the page refused them
        finally:
            with self._one_by_one:
                for key, answers in dealt.items():
                    self._note(key, number, answers)

    def _dealt(self, settings: Mapping[str, Any], number: int) -> Answers | None:
        if not settings["required"] and number % LEAVES_OUT == 0:
            return None
        plan = self.plans[settings["key"]]
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

# Waits in seconds, and the first close code after which the page does not reconnect, as in
# static/js/kit/connection.js.
FIRST_WAIT, LONGEST_WAIT, HANDSHAKE = 0.25, 2.0, 20.0
REFUSED_FROM = 4400
LOST = (OSError, WebSocketException)  # a timeout is an OSError, too

# Frames that are sent again after a reconnection, with the type of their acknowledgment. A state can also
# acknowledge them; for the frames that end the work only a state with the next page does.
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


def open_work_page(
    server: str, link: str, *, people: SelfReports | None = None, number: int = 0, language: str = ""
) -> tuple[Visitor, dict[str, Any]]:
    """Go from the study link to the work page through all forms; returns the visitor and the page's settings.

    Args:
        server: address of the server.
        link: path of the study link.
        people: answers to questionnaires; None if the study has none.
        number: number of the worker.
        language: language to choose, if the study offers several.
    """
    worker = Visitor(server, waits=OUTAGE_SECONDS)
    welcome = worker.get(link)
    instructions = worker.submit(welcome, welcome.form("consent/"), agree="yes")
    page = worker.submit(instructions, instructions.form("start/"))
    if people:
        page = people.answer_page(worker, page, number)
    if "language" in page.buttons:
        page = worker.submit(page, page.form("start/"), language=language)
    return worker, page.settings()


def socket_of(worker: Visitor, settings: dict[str, Any]) -> connect:
    """Open the socket of the page as its browser would."""
    address = "ws" + worker.server.removeprefix("http").rstrip("/") + settings["socket"]
    headers = {"Cookie": worker.cookie_header(), "Origin": worker.server.rstrip("/")}
    # Read all frames, as a page does: a client with a full queue stops answering pings and is disconnected.
    return connect(address, additional_headers=headers, open_timeout=HANDSHAKE, max_queue=None)


class Conversation:
    """A worker's tab. Frames are sent one by one, as a person sends them.

    A lost socket is opened again after doubling waits, and an unacknowledged frame is sent again, as the page
    does.

    Attributes:
        on_frame: called with every frame that arrives, even if no call waits for it.
        is_reconnected: the newest state is the first one after a lost socket.
    """

    def __init__(self, worker: Visitor, settings: dict[str, Any]) -> None:
        self.on_frame: Callable[[dict[str, Any]], None] = lambda frame: None
        self._worker = worker
        self._open = partial(socket_of, worker, settings)
        self._socket: ClientConnection | None = None
        self._sent = 0
        self._unacknowledged: dict[str, Any] | None = None
        self._was_reconnected = self.is_reconnected = False
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
            self._unacknowledged = frame
        await self._sent_now(frame)

    async def _sent_now(self, frame: dict[str, Any]) -> None:
        self._sent += 1
        with suppress(*LOST):  # `_next` notices the loss and reconnects
            if self._socket:
                await self._socket.send(json.dumps(frame))

    async def upload(self, address: str, field: str, content: bytes, *, name: str) -> dict[str, Any]:
        """Upload a file as the page does; returns the answer."""
        return await asyncio.to_thread(self._worker.upload, address, field, content, name=name)

    async def receive(self, *kinds: str) -> dict[str, Any]:
        """Wait for the next frame of one of these kinds; of the others only `are_you_there` is answered.

        Raises:
            MismatchError: an unexpected refusal or bot failure arrived.
        """
        async with asyncio.timeout(REPLY_SECONDS):
            while True:
                answer = await self._next()
                self.on_frame(answer)
                await self._acknowledge(answer)
                if answer["type"] in kinds:
                    return answer
                if answer["type"] == "are_you_there":
                    await self.send(type="here")
                if answer["type"] in ("refused", "bot_failed"):
                    raise MismatchError(f"The server answered with {answer}.")

    async def _next(self) -> dict[str, Any]:
        """Wait for the next frame, and reconnect as often as needed."""
        while True:
            socket = await self._opened()
            try:
                frame: dict[str, Any] = json.loads(await socket.recv())
                return frame
            except LOST as lost:
                if isinstance(lost, ConnectionClosed) and lost.rcvd and lost.rcvd.code >= REFUSED_FROM:
                    raise
                self._socket, self._was_reconnected = None, True

    async def _acknowledge(self, answer: dict[str, Any]) -> None:
        """Drop the sent frame if this answers it; after a reconnection, send it again."""
        if self._unacknowledged and _acknowledges(answer, self._unacknowledged):
            self._unacknowledged = None
        if answer["type"] != "state":
            return
        self._wait = FIRST_WAIT
        if self._unacknowledged and self._was_reconnected:
            await self._sent_now(self._unacknowledged)
        self.is_reconnected, self._was_reconnected = self._was_reconnected, False

    async def exchange(self, awaited: str, **frame: Any) -> dict[str, Any]:
        await self.send(**frame)
        return await self.receive(awaited)


def _acknowledges(answer: dict[str, Any], sent: dict[str, Any]) -> bool:
    """True if this frame answers the sent one."""
    if answer["type"] == "state":
        is_there = any(turn["key"] == sent.get("key", "") for turn in answer.get("turns", ()))
        return is_there or bool(answer.get("finished"))
    return answer["type"] in ("refused", ACKNOWLEDGED[sent["type"]])
