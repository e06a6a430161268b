"""A service bot under load, beside its floor: prints JSON.

    python benchmarks/services_load.py [--seconds 30] [--rate 10] [--chatters 200] [--parallel 64]

A local service answers 94 % of the requests after 0.2 s and 6 % after 6 s. The same schedule of requests goes
to it in two ways in one run, at the same time: through a bot in `chatbots.hosting.resident.Resident`
(`resident`), and from a bare asyncio client that opens a connection for each request and parses nothing
(`floor`). All times are in milliseconds from the request to the reply.

- `steady`: `--rate` requests a second, at times drawn from a Poisson process. Nobody may wait for a
  stranger's slow answer: `median` and `p99` as at the floor.
- `chatters`: so many requests at once; `refused` counts those that were not taken, `late` those without a
  reply in time. With `parallel` requests at once, the last of them waits for some rounds of the service.
- `most_at_once`: the largest number of requests that the service had open for the bot; at most `parallel`.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from chatbots.base import Context
from chatbots.errors import BotBusyError, BotLateError, HostingError
from chatbots.hosting.resident import Resident
from chatbots.registry import create_bot

QUICK, SLOW, SHARE_OF_SLOW = 0.2, 6.0, 0.06
ANSWER = json.dumps({"model": "m", "choices": [{"message": {"content": "Fine."}, "finish_reason": "stop"}]})
HEAD = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(ANSWER)}\r\n\r\n"
Ask = Callable[[int], Awaitable[object]]


class Service:
    """Answers in its own thread, so that neither client runs in the loop of the other."""

    def __init__(self) -> None:
        self.open = self.most_open = 0
        self.port = 0
        self._ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._ready.wait()

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=1000)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await server.serve_forever()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                body = await reader.readexactly(length)
                await self._reply(body, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _reply(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        is_bot = b'"messages"' in body
        self.open += is_bot
        self.most_open = max(self.most_open, self.open)
        await asyncio.sleep(SLOW if b"slow" in body else QUICK)
        self.open -= is_bot
        writer.write((HEAD + ANSWER).encode())
        await writer.drain()


def text_of(number: int) -> str:
    """The message of a request; the service is slow for 6 % of them."""
    return f"slow {number}" if random.Random(number).random() < SHARE_OF_SLOW else f"quick {number}"


def bare_client(service: Service) -> Ask:
    """The floor: one connection for each request, nothing checked."""

    async def ask(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        body = json.dumps({"text": text_of(number)}).encode()
        writer.write(b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        await reader.readexactly(len(HEAD) + len(ANSWER))
        writer.close()

    return ask


async def timed(ask: Ask, number: int, at: float) -> float | str:
    """Milliseconds of one request, sent at this time of the loop; or why it failed."""
    loop = asyncio.get_running_loop()
    await asyncio.sleep(at - loop.time())
    since = time.perf_counter()
    try:
        await ask(number)
    except BotBusyError:
        return "refused"
    except BotLateError:
        return "late"
    except HostingError:
        return "failed"
    return (time.perf_counter() - since) * 1000


async def run(asks: dict[str, Ask], times: list[float]) -> dict[str, dict[str, Any]]:
    """Send the same schedule by each client at the same time; summarise each."""
    begin = asyncio.get_running_loop().time() + 0.2
    results = await asyncio.gather(
        *(
            asyncio.gather(*(timed(ask, number, begin + at) for number, at in enumerate(times)))
            for ask in asks.values()
        )
    )
    return {name: summary(list(outcomes)) for name, outcomes in zip(asks, results, strict=True)}


def summary(outcomes: list[float | str]) -> dict[str, Any]:
    """Quantiles of the times, and counts of the failures."""
    done = sorted(each for each in outcomes if isinstance(each, float))
    counts = {why: outcomes.count(why) for why in ("refused", "late", "failed")}
    if len(done) < 2:
        return {"requests": len(outcomes), **counts}
    hundredths = statistics.quantiles(done, n=100, method="inclusive")
    return {
        "requests": len(outcomes),
        **counts,
        "median": round(statistics.median(done), 1),
        "p90": round(hundredths[89], 1),
        "p99": round(hundredths[98], 1),
        "most": round(done[-1], 1),
    }


def poisson(rate: float, seconds: float) -> list[float]:
    """Times of requests, in seconds, drawn once."""
    draw, at, times = random.Random(1), 0.0, []
    while (at := at + draw.expovariate(rate)) < seconds:
        times.append(at)
    return times


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    service = Service()
    settings = {"base_url": f"http://127.0.0.1:{service.port}", "model": "m", "parallel": options.parallel}
    with Resident("m", lambda: create_bot("openai-chat", settings), deadline=options.deadline) as resident:
        resident.wait_loaded()

        async def ask(number: int) -> object:
            return await resident.respond(Context.from_texts([text_of(number)]))

        asks = {"floor": bare_client(service), "resident": ask}
        steady = await run(asks, poisson(options.rate, options.seconds))
        chatters = await run(asks, [0.0] * options.chatters)
    return {"steady": steady, "chatters": chatters, "most_at_once": service.most_open}


def main() -> None:
    """Parse the options and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rate", type=float, default=10.0)
    parser.add_argument("--chatters", type=int, default=200)
    parser.add_argument("--parallel", type=int, default=64)
    parser.add_argument("--deadline", type=float, default=60.0)
    os.environ["TURNWISE_ALLOWED_NETWORKS"] = "127.0.0.0/8"
    print(json.dumps(asyncio.run(measure(parser.parse_args())), indent=2))


if __name__ == "__main__":
    main()
