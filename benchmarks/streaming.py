"""Delay of the first token of a growing reply, compared with a bare relay in the same run.

    python benchmarks/streaming.py [--chatters 1 20] [--replies 5]

Starts its own PostgreSQL and Redis and two servers: the product, and `relay.py`, which stores nothing. In
both, a thread writes the time of each token; a client on the same machine notes when it arrives. A frame of
several tokens is as late as its newest one. Prints one JSON object.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from websockets.asyncio.client import connect

from benchmarks.services import services
from benchmarks.turns import Server, dialogues_of, nowhere, surroundings

Result = dict[str, Any]
BOTS = Path(__file__).parent / "clock_bot"
TARGET_MS = 100.0


def make_study() -> Any:
    """An open study whose replies are shown as they come."""
    from turnwise.accounts.models import User
    from turnwise.bots.services import register_bot
    from turnwise.studies.asks import About, AskSpec, Moment
    from turnwise.studies.models import ReplyDisplay, Study
    from turnwise.studies.services import save_study, set_state

    bot = register_bot(name="clock", title="Clock", adapter="clock", configuration={})
    owner = User.objects.create_user("bench")
    study = Study(
        title="Streaming",
        languages=["en"],
        max_turns=500,
        reply_display=ReplyDisplay.AS_IT_COMES,
        practice=False,
    )
    asks = [AskSpec("ssa", About.PARTNER_TURN, Moment.BEFORE_FINISH)]
    save_study(study, owner=owner, consent_text="A measurement.", targets={bot: 100_000}, asks=asks)
    return set_state(study.pk, Study.State.OPEN)


@contextmanager
def running_servers() -> Iterator[tuple[dict[str, Server], Any]]:
    """Start the services, the tables and both servers; stop all of them at the end."""
    os.environ["TURNWISE_BOT_PATH"] = str(BOTS)
    with ExitStack() as stack:
        stack.enter_context(services())
        study = make_study()
        servers = {
            "relay": Server("relay", "benchmarks.relay:relay", ["--lifespan", "off"], None),
            "turnwise": Server("turnwise", "benchmarks.unbounded:application", [], None),
        }
        for server in servers.values():
            server.start()
            stack.callback(server.stop)
        yield servers, study


async def talk(port: int, socket: tuple[str, str], replies: int, delays: dict[str, list[float]]) -> None:
    """Send messages and note, in milliseconds, the delay of each token."""
    path, cookie = socket
    headers = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{port}"}
    async with connect(f"ws://127.0.0.1:{port}{path}", additional_headers=headers) as line:
        for _ in range(replies):
            await line.send(json.dumps({"type": "turn", "key": str(uuid4()), "text": "What time is it?"}))
            await read_reply(line, delays)


async def read_reply(line: Any, delays: dict[str, list[float]]) -> None:
    """Read the frames of one reply."""
    is_first = True
    while (frame := json.loads(await line.recv()))["type"] != "bot_turn":
        if frame["type"] in ("refused", "bot_failed"):
            raise SystemExit(f"The server said: {frame}")
        if frame["type"] == "bot_text":
            # A number may be cut at its end.
            times = [float(each) for each in frame["text"].split() if len(each) == len(f"{time.time():.4f}")]
            if times:
                delays["first" if is_first else "later"].append(1000 * (time.time() - times[-1]))
                is_first = False


def summary(delays: dict[str, list[float]]) -> Result:
    return {
        name: {
            "tokens": len(values),
            "p50_ms": round(float(np.percentile(values, 50)), 1),
            "p95_ms": round(float(np.percentile(values, 95)), 1),
            "p99_ms": round(float(np.percentile(values, 99)), 1),
        }
        for name, values in delays.items()
    }


async def measure(server: Server, sockets: list[tuple[str, str]], replies: int) -> dict[str, list[float]]:
    """Run all chatters at the same time; return the delays."""
    delays: dict[str, list[float]] = {"first": [], "later": []}
    async with asyncio.TaskGroup() as group:
        for socket in sockets:
            group.create_task(talk(server.port, socket, replies, delays))
    return delays


def measured(chatters: list[int], replies: int) -> Result:
    with running_servers() as (servers, study):
        results: Result = {}
        asyncio.run(measure(servers["turnwise"], dialogues_of(study, 1), 2))  # the bot is loaded by then
        for number in chatters:
            figures: Result = {}
            for name, server in servers.items():
                sockets = dialogues_of(study, number) if name == "turnwise" else nowhere(number)
                figures[name] = summary(asyncio.run(measure(server, sockets, replies)))
            ours, bare = figures["turnwise"], figures["relay"]
            more = ours["first"]["p50_ms"] - bare["first"]["p50_ms"]
            results[str(number)] = figures | {
                "first_token_later_ms": round(more, 1),
                "is_met": more <= TARGET_MS,
                "later_tokens_later_p99_ms": round(ours["later"]["p99_ms"] - bare["later"]["p99_ms"], 1),
            }
        return results


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--chatters", type=int, nargs="+", default=[1, 20], help="(default: 1 20)")
    parser.add_argument("--replies", type=int, default=5, help="of each chatter (default: 5)")
    options = parser.parse_args()
    result = surroundings() | {"target_ms": TARGET_MS}
    print(json.dumps(result | {"chatters": measured(options.chatters, options.replies)}, indent=2))


if __name__ == "__main__":
    main()
