"""A worker as a program: from the study link through the pages to the socket."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from rehearsals.people import People
from rehearsals.visitor import Visitor

REPLY_SECONDS = 120.0
# The server ends a connection that sends more than a burst of 40 frames and then 5 a second.
FRAMES_AT_ONCE, PAUSE = 30, 0.25


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
    worker = Visitor(server)
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
    return connect(address, additional_headers=headers)


class Conversation:
    """A worker's socket. Frames go out one by one, as a person sends them.

    Attributes:
        noted: told of every frame that comes, also of those that nobody waits for.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.sent = 0
        self.noted: Callable[[dict[str, Any]], None] = lambda frame: None

    async def send(self, **frame: Any) -> None:
        if self.sent > FRAMES_AT_ONCE:
            await asyncio.sleep(PAUSE)
        self.sent += 1
        await self.socket.send(json.dumps(frame))

    async def heard(self, *kinds: str) -> dict[str, Any]:
        """The next frame of one of these kinds; of others only a question whether one is there is answered.

        Raises:
            MismatchError: a refusal, or a failed bot that was not asked for.
        """
        async with asyncio.timeout(REPLY_SECONDS):
            while True:
                answer: dict[str, Any] = json.loads(await self.socket.recv())
                self.noted(answer)
                if answer["type"] in kinds:
                    return answer
                if answer["type"] == "are_you_there":
                    await self.send(type="here")
                if answer["type"] in ("refused", "bot_failed"):
                    raise MismatchError(f"The server answered with {answer}.")

    async def exchange(self, awaited: str, **frame: Any) -> dict[str, Any]:
        await self.send(**frame)
        return await self.heard(awaited)
