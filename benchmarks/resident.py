"""What hosting adds to a reply: prints JSON. Run as `python benchmarks/resident.py`.

Every figure is the median of one run, in microseconds per request, one request at a time from one event loop:

- `direct`: calling the bot;
- `thread_hop`: the floor: handing a context to a bare thread and its answer back to the event loop;
- `resident`: the same bot behind `chatbots.resident.Resident`;
- `resident_of_32`: again, with 32 bots resident and each asked in turn;
- `resident_32_idle`: again, always the same bot, with 31 others resident.

`batched` is the time per request when 64 callers ask at once.
"""

import argparse
import asyncio
import itertools
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from queue import SimpleQueue

import numpy as np

from chatbots.base import Bot, Context, Response
from chatbots.registry import create_bot
from chatbots.resident import Resident

Ask = Callable[[Context], Awaitable[Response]]
CONTEXT = Context.from_texts(["Hi!", "Hello", "Do you like cats?"])
MICROSECOND = 1e-6


class ThreadHop:
    """The least that a bot on its own thread can cost: no bound, no deadline, no batch, no count."""

    def __init__(self, bot: Bot) -> None:
        """Start the thread."""
        self.bot = bot
        self.requests: SimpleQueue[tuple[Context, asyncio.Future[Response]]] = SimpleQueue()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        """Answer for ever."""
        while True:
            context, answer = self.requests.get()
            [response] = self.bot.respond([context])
            answer.get_loop().call_soon_threadsafe(answer.set_result, response)

    async def respond(self, context: Context) -> Response:
        """Hand over and wait."""
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self.requests.put((context, answer))
        return await answer


def hosted(count: int) -> list[Resident]:
    """That many residents of the generic bot, loaded."""
    residents = [Resident(f"generic {n}", lambda: create_bot("generic")) for n in range(count)]
    for resident in residents:
        resident.wait_loaded()
    return residents


def direct(bot: Bot) -> Ask:
    """The bot called in the event loop."""

    async def respond(context: Context) -> Response:
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


async def seconds_together(ask: Ask, callers: int, rounds: int) -> float:
    """Median seconds per request while that many callers ask at once."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        await asyncio.gather(*[ask(CONTEXT) for _ in range(callers)])
        taken.append((time.perf_counter() - start) / callers)
    return float(np.median(taken))


async def measure(requests: int, rounds: int) -> dict[str, float]:
    """All figures; the ways take turns, so that a busy machine slows them alike."""
    bot = create_bot("generic")
    [alone] = hosted(1)
    hop = ThreadHop(bot)
    taken: dict[str, list[float]] = {}
    for _ in range(rounds):
        await collect("direct", [direct(bot)], taken, requests)
        await collect("thread_hop", [hop.respond], taken, requests)
        await collect("resident", [alone.respond], taken, requests)
        others = hosted(31)
        await collect("resident_32_idle", [alone.respond], taken, requests)
        await collect("resident_of_32", [each.respond for each in (alone, *others)], taken, requests)
        for each in others:
            each.close(wait=10)
    figures = {name: float(np.median(seconds)) for name, seconds in taken.items()}
    figures["batched"] = await seconds_together(alone.respond, callers=64, rounds=50)
    return {name: round(seconds / MICROSECOND, 2) for name, seconds in figures.items()}


async def collect(name: str, asks: Sequence[Ask], taken: dict[str, list[float]], requests: int) -> None:
    """Add the seconds of each request to `taken[name]`."""
    await seconds_each(itertools.cycle(asks), 100)  # warm
    taken.setdefault(name, []).extend(await seconds_each(itertools.cycle(asks), requests))


def report(figures: dict[str, float]) -> dict[str, object]:
    """The figures with the comparisons that matter."""
    return {
        "microseconds_per_request": figures,
        "added_to_direct": round(figures["resident"] - figures["direct"], 2),
        "added_to_thread_hop": round(figures["resident"] - figures["thread_hop"], 2),
        "with_32_to_with_1": round(figures["resident_32_idle"] / figures["resident"], 3),
        "of_32_to_with_1": round(figures["resident_of_32"] / figures["resident"], 3),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=2_000, help="per way and round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(json.dumps(report(asyncio.run(measure(options.requests, options.rounds))), indent=2))


if __name__ == "__main__":
    main()
