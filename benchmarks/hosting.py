"""Time that hosting adds to a reply, alone and over the Channels layer; prints JSON.

    python benchmarks/hosting.py [--requests 2000] [--rounds 5] [--seconds 3] [--without-model]

- `microseconds_per_request`, one at a time from one event loop, medians: `direct` calls the bot;
  `thread_hop` is the floor, handing a context to a bare thread and its answer back; `resident` is the bot
  behind `chatbots.hosting.resident.Resident`, `resident_32_idle` the same with 31 others beside it,
  `resident_of_32` all 32 asked in turn, `batched` one request while 64 callers ask at once.
- `two_slow_bots_s`: two bots that take 0.5 s each, asked together.
- `storm`: 1,000 requests with failures, hangs and oversized answers; how they ended, and how long after
  its deadline the latest heard of it.
- `over_the_channel_layer`: `manage.py hostbots generic` in another process, with PostgreSQL and Redis
  started for this run; against the bot asked in this process, and against the floor of one bare PUBLISH
  there and one back for each request, through the same Redis over one connection.
- `huggingface`: what `benchmarks/huggingface.py` measures, a causal model of about 30M parameters with 16
  dialogues together against one after another; needs the models extra, takes a minute or two.
"""

import argparse
import asyncio
import itertools
import json
import logging
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.errors import HostingError
from chatbots.hosting.resident import Resident
from chatbots.registry import create_bot
from chatbots.replies import Failure, Response

ROOT = Path(__file__).resolve().parents[1]
Ask = Callable[[Context], Awaitable[object]]
Result = dict[str, Any]
CONTEXT = Context.from_texts(["Hi!", "Hello", "Do you like cats?"])
DEADLINE = 1.0


class ThreadHop:
    """The least that a bot on its own thread can cost: no bound, no deadline, no batch, no count."""

    def __init__(self, bot: Bot) -> None:
        self.bot = bot
        self.requests: SimpleQueue[tuple[Context, asyncio.Future[Response | Failure]]] = SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            context, answer = self.requests.get()
            [response] = self.bot.respond([context])
            answer.get_loop().call_soon_threadsafe(answer.set_result, response)

    async def respond(self, context: Context) -> Response | Failure:
        answer: asyncio.Future[Response | Failure] = asyncio.get_running_loop().create_future()
        self.requests.put((context, answer))
        return await answer


class StormyBot(Bot):
    """Bot that does what the text of the newest turn says."""

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        [context] = contexts
        number, fate = context.turns[-1].text.split()
        if fate == "fail":
            raise RuntimeError("planned")
        if fate == "hang":
            time.sleep(1.5 * DEADLINE)
        return [Response(number + " blah" * (1_000_000 if fate == "babble" else 0))]


# --- one process ---


def hosted(count: int) -> list[Resident]:
    """That many residents of the generic bot, loaded."""
    residents = [
        Resident(f"generic {n}", lambda: create_bot("generic"), queue_size=1_000) for n in range(count)
    ]
    for resident in residents:
        resident.wait_loaded()
    return residents


def direct(bot: Bot) -> Ask:
    async def respond(context: Context) -> Response | Failure:
        [response] = bot.respond([context])
        return response

    return respond


async def seconds_each(asks: Iterator[Ask], requests: int) -> list[float]:
    """Seconds of each request, one after another."""
    taken = []
    for ask in itertools.islice(asks, requests):
        start = time.perf_counter()
        await ask(CONTEXT)
        taken.append(time.perf_counter() - start)
    return taken


async def one_process(requests: int, rounds: int) -> Result:
    """All ways take turns, so that a busy machine slows them alike."""
    bot = create_bot("generic")
    [alone] = hosted(1)
    hop = ThreadHop(bot)
    taken: dict[str, list[float]] = {}

    async def collect(name: str, asks: Sequence[Ask]) -> None:
        await seconds_each(itertools.cycle(asks), 100)  # warm
        taken.setdefault(name, []).extend(await seconds_each(itertools.cycle(asks), requests))

    for _ in range(rounds):
        await collect("direct", [direct(bot)])
        await collect("thread_hop", [hop.respond])
        await collect("resident", [alone.respond])
        others = hosted(31)
        await collect("resident_32_idle", [alone.respond])
        await collect("resident_of_32", [each.respond for each in (alone, *others)])
        for each in others:
            each.close(wait=10)
    figures = {name: median_us(seconds) for name, seconds in taken.items()}
    figures["batched"] = median_us(await seconds_together(alone.respond, callers=64, rounds=50))
    return {
        "microseconds_per_request": figures,
        "added_to_direct": round(figures["resident"] - figures["direct"], 2),
        "added_to_thread_hop": round(figures["resident"] - figures["thread_hop"], 2),
        "with_32_to_with_1": round(figures["resident_32_idle"] / figures["resident"], 3),
        "of_32_to_with_1": round(figures["resident_of_32"] / figures["resident"], 3),
    }


async def seconds_together(ask: Ask, callers: int, rounds: int) -> list[float]:
    """Seconds per request while that many callers ask at once."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        await asyncio.gather(*[ask(CONTEXT) for _ in range(callers)])
        taken.append((time.perf_counter() - start) / callers)
    return taken


def median_us(seconds: list[float]) -> float:
    return round(float(np.median(seconds)) * 1e6, 2)


async def two_slow_bots() -> float:
    slow = {"replies": ["Well …"], "seconds": 0.5}
    pair = [Resident(name, lambda: create_bot("scripted", slow)) for name in ("one", "other")]
    for resident in pair:
        resident.wait_loaded()
    start = time.perf_counter()
    await asyncio.gather(*[resident.respond(CONTEXT) for resident in pair])
    return round(time.perf_counter() - start, 3)


async def storm(requests: int = 1_000, callers: int = 56) -> Result:
    fates = random.Random(5).choices(["echo", "fail", "hang", "babble"], [850, 100, 10, 40], k=requests)
    slots = asyncio.Semaphore(callers)
    resident = Resident("stormy", lambda: StormyBot(BotConfiguration()), queue_size=50)
    ends: Counter[str] = Counter()
    longest = 0.0

    async def ask(number: int, fate: str) -> None:
        nonlocal longest
        async with slots:
            start = time.perf_counter()
            try:
                response = await resident.respond(Context.from_texts([f"{number} {fate}"]), deadline=DEADLINE)
                mine = response.text.split()[0] == str(number)
                ends["own answer" if mine else "another's answer"] += 1
            except HostingError as error:
                ends[type(error).__name__] += 1
            longest = max(longest, time.perf_counter() - start)
            await asyncio.sleep(0.1)

    await asyncio.gather(*[ask(number, fate) for number, fate in enumerate(fates)])
    return {
        "requests": requests,
        "ends": dict(ends),
        "past_deadline_s": round(max(0.0, longest - DEADLINE), 3),
    }


# --- two processes ---


@contextmanager
def host_process() -> Iterator[int]:
    """PostgreSQL, Redis and a host of GenericBot, all started for this run; yields the bot's id."""
    from turnwise.project.supervision.embedded import PostgreSQL, Redis

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="turnwise-")))
        folder.chmod(0o711)
        services = PostgreSQL(folder / "postgresql"), Redis(folder / "redis")
        for service in services:
            service.start()
            stack.callback(service.stop)
        os.environ |= {
            "DATABASE_URL": services[0].owner_url,
            "REDIS_URL": services[1].url,
            "TURNWISE_VAR": str(folder / "var"),
            "TURNWISE_BOTS": "none",
            "SECRET_KEY": secrets.token_urlsafe(50),
            "DJANGO_SETTINGS_MODULE": "turnwise.project.settings",
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "platform")]),
        }
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", interactive=False, verbosity=0)
        from turnwise.bots.services import register_bot

        bot = register_bot(name="generic", title="GenericBot", adapter="generic")
        command = [sys.executable, str(ROOT / "manage.py"), "hostbots", "generic"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        yield bot.pk


async def until_ready() -> None:
    from turnwise.bots.hosting import presence

    while not presence.DIRECTORY.answering(next(iter(presence.DIRECTORY._copies), 0)):
        await asyncio.to_thread(presence.DIRECTORY.read)
        await asyncio.sleep(0.1)


async def closed_loop(ask: Ask, callers: int, seconds: float) -> Result:
    """Simulate callers who each send the next request once the last one is answered."""
    taken: list[float] = []
    errors: Counter[str] = Counter()
    until = time.perf_counter() + seconds

    async def caller() -> None:
        while (start := time.perf_counter()) < until:
            try:
                await ask(CONTEXT)
            except Exception as error:
                errors[type(error).__name__] += 1
            else:
                taken.append(time.perf_counter() - start)

    await asyncio.gather(*[caller() for _ in range(callers)])
    p99 = float(np.quantile(taken, 0.99)) * 1e3
    return {
        "replies_per_s": round(len(taken) / seconds),
        "median_ms": round(median_us(taken) / 1e3, 3),
        "p99_ms": round(p99, 3),
        "errors": dict(errors),
    }


async def publish_round_trips(callers: int, seconds: float) -> Result:
    """The floor: one PUBLISH there and one back for each request, both ends in this process."""
    from redis.asyncio import from_url

    client = from_url(os.environ["REDIS_URL"], socket_timeout=None)
    waiting: dict[bytes, asyncio.Future[None]] = {}
    numbers = itertools.count()

    async def listen(channel: str, then: Callable[[bytes], Awaitable[None]]) -> None:
        async with client.pubsub() as subscription:
            await subscription.subscribe(channel)
            async for message in subscription.listen():
                if message["type"] == "message":
                    await then(message["data"])

    one_connection = asyncio.Lock()

    async def publish(channel: str, number: bytes) -> None:
        async with one_connection:
            await client.publish(channel, number)

    async def back(number: bytes) -> None:
        await publish("answers", number)

    async def arrived(number: bytes) -> None:
        waiting.pop(number).set_result(None)

    listeners = [
        asyncio.create_task(listen("requests", back)),
        asyncio.create_task(listen("answers", arrived)),
    ]
    await asyncio.sleep(0.3)

    async def ask(context: Context) -> None:
        number = str(next(numbers)).encode()
        answer = waiting[number] = asyncio.get_running_loop().create_future()
        await publish("requests", number)
        await answer

    found = await closed_loop(ask, callers, seconds)
    for task in listeners:
        task.cancel()
    await asyncio.gather(*listeners, return_exceptions=True)
    await client.aclose()
    return found


async def over_the_channel_layer(bot_id: int, seconds: float) -> Result:
    from turnwise.bots.hosting import client

    await until_ready()
    [here] = hosted(1)
    found: Result = {}
    for callers in (1, 20, 200):
        remote = await closed_loop(lambda context: client.reply(bot_id, context), callers, seconds)
        local = await closed_loop(here.respond, callers, min(1.0, seconds))
        floor = await publish_round_trips(callers, seconds)
        found[f"{callers}_callers"] = {
            "remote": remote,
            "in_this_process": local,
            "publish_round_trips": floor,
            "median_added_ms": round(remote["median_ms"] - local["median_ms"], 3),
            "ratio_to_publish": round(remote["replies_per_s"] / floor["replies_per_s"], 2),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=2_000, help="per way and round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each closed loop")
    parser.add_argument("--without-model", action="store_true", help="leave `huggingface` out")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # the storm's planned failures
    result = asyncio.run(one_process(options.requests, options.rounds))
    result["two_slow_bots_s"] = asyncio.run(two_slow_bots())
    result["storm"] = asyncio.run(storm())
    with host_process() as bot_id:
        result["over_the_channel_layer"] = asyncio.run(over_the_channel_layer(bot_id, options.seconds))
    if not options.without_model:
        from benchmarks.huggingface import measured

        result["huggingface"] = measured()
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
