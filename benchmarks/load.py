"""Load for `turns.py`: chatters on WebSockets, in a process of its own.

Reads one job as JSON from standard input and prints its result as JSON. The frames are written and
parsed by hand, and the key that masks them is zero, so that this process needs a small part of its
core and the server is what is measured.
"""

import asyncio
import gc
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast
from uuid import uuid4

import psutil
import uvloop

PATIENCE = 20.0
TEXT, CLOSE, PING, PONG = 0x81, 0x88, 0x89, 0x8A
REPLIES = ("bot_turn", "label_saved")
FAILURES = ("refused", "bot_failed")
SENTENCES = (
    "I spent the whole weekend repairing my bicycle.",
    "Do you like the sea more than the mountains?",
    "Tell me what you would cook for six guests.",
    "My sister has moved to another town and I miss her.",
)


class Browser(asyncio.Protocol):
    """One WebSocket. `exchange` sends a frame and waits for the server's answer to it."""

    def __init__(self, path: str, cookie: str) -> None:
        self.path = path
        self.cookie = cookie
        self.received = b""
        self.shakes_hands = True
        self.first: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.waiter: asyncio.Future[bytes] | None = None
        self.end = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        lines = (f"GET {self.path} HTTP/1.1", "Host: 127.0.0.1", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13",
                 f"Cookie: {self.cookie}", "", "")  # fmt: skip
        self.transport.write("\r\n".join(lines).encode())

    def connection_lost(self, error: Exception | None) -> None:
        self.fail("connection lost")

    def fail(self, reason: str) -> None:
        self.end = self.end or reason
        for waiter in (self.first, self.waiter):
            if waiter and not waiter.done():
                waiter.set_exception(ConnectionError(self.end))
                waiter.exception()  # retrieve it: asyncio warns about exceptions that nobody reads

    def data_received(self, data: bytes) -> None:
        self.received += data
        if self.shakes_hands:
            head, blank, rest = self.received.partition(b"\r\n\r\n")
            if not blank:
                return
            if not head.startswith(b"HTTP/1.1 101"):
                self.fail(head.split(b"\r\n")[0].decode())
                return
            self.shakes_hands, self.received = False, rest
            self.first.set_result("")
        while frame := unpacked(self.received):
            opcode, payload, size = frame
            self.received = self.received[size:]
            self.on_frame(opcode, payload)

    def on_frame(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self.transport.write(packed(payload, PONG))
        elif opcode == CLOSE:
            self.fail(f"closed with {int.from_bytes(payload[:2], 'big')}")
        elif self.waiter and not self.waiter.done() and kind_of(payload) in REPLIES:
            self.waiter.set_result(payload)
        elif kind_of(payload) in FAILURES:
            self.fail(str(json.loads(payload).get("reason", "bot_failed")))

    async def exchange(self, frame: bytes) -> bytes:
        if self.end:
            raise ConnectionError(self.end)
        self.waiter = asyncio.get_running_loop().create_future()
        self.transport.write(frame)
        return await self.waiter


AnyBrowser = TypeVar("AnyBrowser", bound=Browser)


def packed(payload: bytes, opcode: int = TEXT) -> bytes:
    """A client's frame of less than 64 KiB, masked with the zero key."""
    if len(payload) < 126:
        return bytes((opcode, 0x80 | len(payload), 0, 0, 0, 0)) + payload
    return bytes((opcode, 0x80 | 126, *len(payload).to_bytes(2, "big"), 0, 0, 0, 0)) + payload


def unpacked(data: bytes) -> tuple[int, bytes, int] | None:
    """The first whole frame of a server: first byte, payload, size; None if it is not whole yet."""
    if len(data) < 2:
        return None
    start, length = 2, data[1]
    if length >= 126:
        start = 4 if length == 126 else 10
        length = int.from_bytes(data[2:start], "big")
    if len(data) < start + length:
        return None
    return data[0], data[start : start + length], start + length


def kind_of(payload: bytes) -> str:
    """The value of "type", which every server here writes first."""
    return payload[:40].split(b'"')[3].decode()


@dataclass
class Run:
    """Measurements between `begin` and `end`."""

    begin: float
    end: float
    turns: list[float] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    async def timed(
        self, browser: Browser, frame: bytes, into: list[float], due: float | None = None
    ) -> bytes:
        """An exchange, counted if it ends in the window; `due` is when it should have begun."""
        began = due or time.monotonic()
        try:
            answer = await asyncio.wait_for(browser.exchange(frame), PATIENCE)
        except TimeoutError:
            browser.fail("no answer")
            raise ConnectionError(browser.end) from None
        ended = time.monotonic()
        if self.begin <= ended < self.end:
            into.append(ended - began)
        return answer


def turn_frame(number: int) -> bytes:
    text = SENTENCES[number % len(SENTENCES)]
    return packed(json.dumps({"type": "turn", "key": str(uuid4()), "text": text}).encode())


def label_frame(answer: bytes) -> bytes:
    position = json.loads(answer)["turn"]["position"]
    answers = {"sensible": True, "specific": position % 4 == 0}
    return packed(json.dumps({"type": "label", "position": position, "answers": answers}).encode())


async def chat(browsers: list[Browser], run: Run, labelling: bool) -> None:
    """Closed loop: the next turn follows the last reply. Dialogues take turns, to stay short."""
    number = 0
    while time.monotonic() < run.end and browsers:
        browser = browsers[number % len(browsers)]
        number += 1
        try:
            answer = await run.timed(browser, turn_frame(number), run.turns)
            if labelling:
                await run.timed(browser, label_frame(answer), run.labels)
        except ConnectionError as error:
            run.errors[str(error)] += 1
            browsers.remove(browser)


async def chat_by_the_clock(browser: Browser, run: Run, start: float, every: float) -> None:
    """Open loop: a turn every so often, whatever the server does; late starts count as latency."""
    number, due = 0, start
    while due < run.end:
        await asyncio.sleep(due - time.monotonic())
        try:
            await run.timed(browser, turn_frame(number), run.turns, due)
        except ConnectionError as error:
            run.errors[str(error)] += 1
            return
        number, due = number + 1, due + every


def cpu_seconds(pid: int) -> float:
    process = psutil.Process(pid)
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


async def connected(job: dict[str, Any], kind: type[AnyBrowser]) -> list[AnyBrowser]:
    doors = asyncio.Semaphore(20)

    async def connect(path: str, cookie: str) -> AnyBrowser:
        async with doors:
            make = partial(kind, path, cookie)
            _, browser = await asyncio.get_running_loop().create_connection(make, "127.0.0.1", job["port"])
            await asyncio.wait_for(browser.first, PATIENCE)
            return browser

    browsers = await asyncio.gather(*(connect(path, cookie) for path, cookie in job["sockets"]))
    await asyncio.sleep(0.5)  # the first states arrive
    return browsers


async def at_rest(pid: int) -> None:
    """Wait until the server has sent the first states of all dialogues, which is no part of a turn."""
    before = cpu_seconds(pid)
    for _ in range(int(PATIENCE / 0.25)):
        await asyncio.sleep(0.25)
        after = cpu_seconds(pid)
        if after - before < 0.02:
            return
        before = after
    raise SystemExit(f"The server was still busy {PATIENCE:g} s after the sockets had opened.")


async def carry_out(job: dict[str, Any]) -> dict[str, Any]:
    browsers = await connected(job, Browser)
    await at_rest(job["watch"]["server"])
    gc.collect()
    gc.freeze()
    now = time.monotonic()
    run = Run(begin=now + job["warm_up"], end=now + job["warm_up"] + job["seconds"])
    count, every = job["chatters"], job["every"]
    chats: list[Coroutine[Any, Any, None]]
    if every:
        chats = [
            chat_by_the_clock(browser, run, now + every * i / count, every)
            for i, browser in enumerate(browsers)
        ]
    else:
        chats = [chat(browsers[i::count], run, job["labelling"]) for i in range(count)]
    _, used = await asyncio.gather(asyncio.gather(*chats), watch(job["watch"], run))
    for browser in browsers:
        browser.transport.close()
    return {
        "turns": len(run.turns),
        "labels": len(run.labels),
        "turn_ms": quantiles(run.turns),
        "label_ms": quantiles(run.labels),
        "errors": dict(run.errors),
        "cpu_seconds": used,
    }


async def watch(pids: dict[str, int], run: Run) -> dict[str, float]:
    """CPU seconds that each process and its children used in the window."""
    pids = {**pids, "load": os.getpid()}
    await asyncio.sleep(run.begin - time.monotonic())
    before = {name: cpu_seconds(pid) for name, pid in pids.items()}
    await asyncio.sleep(run.end - time.monotonic())
    return {name: cpu_seconds(pid) - before[name] for name, pid in pids.items()}


def quantiles(seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {}
    ordered = sorted(seconds)
    return {
        f"p{q}": round(1000 * ordered[min(len(ordered) - 1, len(ordered) * q // 100)], 2)
        for q in (50, 95, 99)
    }


if __name__ == "__main__":
    given = json.load(sys.stdin)
    if given["core"] is not None:
        os.sched_setaffinity(0, {given["core"]})
    print(json.dumps(uvloop.run(carry_out(given))))
