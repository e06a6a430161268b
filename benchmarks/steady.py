"""People who talk for long, through nginx: delays by the minute, what is lost, memory and open files.

    python benchmarks/steady.py [--chatters 500] [--every 2] [--minutes 10] [--exchanges 14]

Starts a durable PostgreSQL, a Redis, one server of sockets with GenericBot, and nginx with the
configuration of `deploy/`. Each chatter sends a message every so many seconds, whatever the server does
(open loop), and begins a new conversation after `--exchanges` replies. At the end every reply that a
chatter received is looked up in the database. Prints one JSON object. nginx is that of the tests
(`scripts/nginx.sh`).

`growth_per_hour` is the slope of a line through the samples after the first tenth of the time.
"""

import argparse
import asyncio
import json
import os
import runpy
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.load import PATIENCE, Browser, kind_of, quantiles, turn_frame
from benchmarks.services import ROOT, services
from benchmarks.turns import Server, dialogues_of, make_study, surroundings

SAMPLE_SECONDS = 10.0
BEGUN_AT_ONCE = 100
Result = dict[str, Any]


@contextmanager
def stage() -> Iterator[tuple[int, Any, dict[str, int]]]:
    """Start everything; yield nginx's port, the study, and the processes to watch."""
    with ExitStack() as stack:
        postgresql, redis = stack.enter_context(services())
        study = make_study("before_finish")
        server = Server("turnwise", "turnwise.project.asgi:application", [], None)
        server.start()
        stack.callback(server.stop)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        var = Path(os.environ["TURNWISE_VAR"])
        native = runpy.run_path(str(ROOT / "deploy" / "native"))
        conf = native["nginx_conf"](var, port, {"pages": [server.port], "sockets": [server.port]})
        program = subprocess.check_output([ROOT / "scripts" / "nginx.sh"], cwd=ROOT, text=True).strip()
        nginx = subprocess.Popen([program, "-p", str(var), "-c", str(conf)])
        stack.callback(nginx.wait)
        stack.callback(nginx.terminate)
        time.sleep(1)
        assert postgresql.process
        assert redis.process
        watched = {"server": server.process.pid, "nginx": nginx.pid}
        yield port, study, watched | {"postgresql": postgresql.process.pid, "redis": redis.process.pid}


class Chatters:
    """All chatters of a run, in one process.

    Attributes:
        delays: (time of the reply, seconds since the message was due), of every exchange.
        heard: number of replies that each conversation sent, by the path of its socket.
    """

    def __init__(self, options: argparse.Namespace, port: int, conversations: list[tuple[str, str]]) -> None:
        self.options, self.port, self.conversations = options, port, conversations
        self.delays: list[tuple[float, float]] = []
        self.heard: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.began = time.monotonic()
        self.end = self.began + 60 * options.minutes

    async def talk(self, number: int) -> None:
        """Talk by the clock until the end, in one conversation after another.

        People arrive evenly during the first conversation's length, so that later ones begin evenly, too.
        """
        spell = self.options.every * self.options.exchanges
        due = self.began + spell * number / self.options.chatters
        while due < self.end and self.conversations:
            path, cookie = self.conversations.pop()
            await asyncio.sleep(due - time.monotonic())
            try:
                browser = await self._connected(path, cookie)
                for turn in range(self.options.exchanges):
                    if due >= self.end:
                        break
                    await asyncio.sleep(due - time.monotonic())
                    await asyncio.wait_for(browser.exchange(turn_frame(turn)), PATIENCE)
                    self.heard[path] += 1
                    self.delays.append((time.monotonic(), time.monotonic() - due))
                    due += self.options.every
                browser.transport.close()
            except (OSError, TimeoutError) as error:
                self.errors[f"{type(error).__name__}: {error}"] += 1
                due += self.options.every

    async def _connected(self, path: str, cookie: str) -> "Page":
        make = partial(Page, path, cookie)
        _, browser = await asyncio.get_running_loop().create_connection(make, "127.0.0.1", self.port)
        await asyncio.wait_for(browser.first, PATIENCE)
        await asyncio.wait_for(browser.ready, PATIENCE)
        return browser

    def by_minute(self) -> list[Result]:
        times, delays = np.array(self.delays).T
        minutes = ((times - self.began) // 60).astype(int)
        return [quantiles(list(delays[minutes == minute])) for minute in range(self.options.minutes)]


class Page(Browser):
    """A browser that waits for the conversation's state, as a page does."""

    def __init__(self, path: str, cookie: str) -> None:
        super().__init__(path, cookie)
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_frame(self, opcode: int, payload: bytes) -> None:
        if not self.ready.done() and payload.startswith(b"{") and kind_of(payload) == "state":
            self.ready.set_result(None)
        super().on_frame(opcode, payload)


def sample(pids: dict[str, int]) -> Result:
    """Memory in MB, without what processes share, and open files of each program with its children."""
    found: Result = {}
    for name, pid in pids.items():
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        memory = [each.memory_full_info().uss for each in family if each.is_running()]
        found[f"{name}_mb"] = round(sum(memory) / 2**20, 1)
        found[f"{name}_files"] = sum(each.num_fds() for each in family if each.is_running())
    return found


async def watch(pids: dict[str, int], chatters: Chatters) -> list[tuple[float, Result]]:
    samples = []
    while time.monotonic() < chatters.end:
        with suppress(psutil.NoSuchProcess):  # a connection's process ended meanwhile
            samples.append((time.monotonic() - chatters.began, await asyncio.to_thread(sample, pids)))
        await asyncio.sleep(SAMPLE_SECONDS)
    return samples


def slope(hours: "np.ndarray[Any, Any]", values: "np.ndarray[Any, Any]") -> float | None:
    return round(float(np.polyfit(hours, values, 1)[0]), 1) if len(values) > 1 else None


def growth(samples: list[tuple[float, Result]], seconds: float) -> Result:
    """First, last and largest value of each figure after the first tenth, and its slope by the hour."""
    late = [(at, values) for at, values in samples if at >= seconds / 10]
    hours = np.array([at for at, _ in late]) / 3600
    figures: Result = {}
    for name in late[0][1]:
        values = np.array([each[name] for _, each in late], dtype=float)
        figures[name] = {
            "first": values[0],
            "last": values[-1],
            "most": values.max(),
            "growth_per_hour": slope(hours, values),
            "growth_per_hour_second_half": slope(hours[len(hours) // 2 :], values[len(hours) // 2 :]),
        }
    return figures


def lost_and_doubled(chatters: Chatters) -> Result:
    """Compare what chatters heard with what is stored: a message and a reply for each exchange."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT d.public_id::text, count(t.key),"
            "       count(*) - count(t.key) - count(*) FILTER (WHERE t.position = 0),"
            "       count(*) - count(DISTINCT t.position)"
            "  FROM dialogues_turn AS t JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id GROUP BY 1"
        )
        stored = {public: counts for public, *counts in cursor.fetchall()}
    lost = unheard = doubled = 0
    for path, heard in chatters.heard.items():
        messages, replies, repeated = stored.get(path.strip("/").split("/")[-1], (0, 0, 0))
        lost += max(0, heard - messages) + max(0, heard - replies)
        unheard += max(0, replies - heard)
        doubled += repeated
    return {"lost_turns": lost, "doubled_turns": doubled, "replies_not_heard": unheard}


async def carry_out(chatters: Chatters, pids: dict[str, int]) -> list[tuple[float, Result]]:
    watching = asyncio.create_task(watch(pids, chatters))
    await asyncio.gather(*(chatters.talk(number) for number in range(chatters.options.chatters)))
    return await watching


def measured(options: argparse.Namespace) -> Result:
    with stage() as (port, study, pids):
        spell = options.every * options.exchanges
        number = options.chatters * (int(60 * options.minutes / spell) + 2)
        conversations: list[tuple[str, str]] = []
        while len(conversations) < number:
            conversations += dialogues_of(study, BEGUN_AT_ONCE)
            print(f"{len(conversations)} of {number} conversations are prepared", file=sys.stderr)
        before = psutil.cpu_times()
        chatters = Chatters(options, port, conversations)
        samples = asyncio.run(carry_out(chatters, pids))
        spent = psutil.cpu_times()
        every = [delay for _, delay in chatters.delays]
        return {
            "replies": len(every),
            "conversations": len(chatters.heard),
            "turn_ms": quantiles(every),
            "slowest_ms": round(1000 * max(every), 1),
            "turn_ms_by_minute": chatters.by_minute(),
            "errors": dict(chatters.errors),
            **lost_and_doubled(chatters),
            "machine_busy_share": round(
                1 - (spent.idle - before.idle) / (60 * options.minutes * (os.cpu_count() or 1)), 2
            ),
            "programs": growth(samples, 60 * options.minutes),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chatters", type=int, default=500, help="at the same time (default: 500)")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two messages (default: 2)")
    parser.add_argument("--minutes", type=int, default=10, help="(default: 10)")
    parser.add_argument("--exchanges", type=int, default=14, help="of a conversation (default: 14)")
    options = parser.parse_args()
    print(json.dumps(surroundings() | vars(options) | measured(options), indent=2))


if __name__ == "__main__":
    main()
