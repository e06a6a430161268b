"""Time until a person reads another person's message, beside the time to a chatbot's reply.

    python benchmarks/pairs.py [--pairs 100] [--seconds 20] [--every 2]

Starts its own PostgreSQL (durable) and Redis in a temporary folder and one web server, pinned to one core;
the load runs on the other. In an open loop each person of each pair sends a message every so often, by turns;
the time is from the moment in which it was due to be sent until the partner's socket has it, committed.
As many people then talk with GenericBot at the same pace. Prints one JSON object.
"""

import argparse
import asyncio
import json
import os
import platform
import time
from contextlib import ExitStack
from typing import Any

import numpy as np
import uvloop
from typing_extensions import override

from benchmarks.load import FAILURES, TEXT, Browser, connected, kind_of, packed, turn_frame
from benchmarks.services import services
from benchmarks.turns import Server, dialogues_of, make_study

Sockets = list[tuple[str, str]]
PATIENCE = 20.0
HERE = packed(json.dumps({"type": "here"}).encode())


class Person(Browser):
    """One of two partners: answers presence checks and receives the messages of the other."""

    heard: "asyncio.Future[float] | None" = None

    @override
    def on_frame(self, opcode: int, payload: bytes) -> None:
        kind = kind_of(payload) if opcode == TEXT else ""
        if kind == "are_you_there":
            self.transport.write(HERE)
        elif kind in ("partner_turn", "bot_turn") and self.heard and not self.heard.done():
            self.heard.set_result(time.monotonic())
        elif kind in FAILURES or opcode != TEXT:
            super().on_frame(opcode, payload)


async def tell(speaker: Person, listener: Person, due: float, number: int) -> float:
    """Seconds until the listener has it that the speaker sends; of a chatbot the speaker listens."""
    await asyncio.sleep(due - time.monotonic())
    if speaker.end or listener.end:
        raise ConnectionError(speaker.end or listener.end)
    listener.heard = asyncio.get_running_loop().create_future()
    speaker.transport.write(turn_frame(number))
    return await asyncio.wait_for(listener.heard, PATIENCE) - due


async def talk(ends: list[Person], every: float, start: float, turns: int, seen: list[float | str]) -> None:
    """One conversation: of two people by turns, of one with the chatbot."""
    for number in range(turns):
        speaker, listener = ends[number % len(ends)], ends[(number + 1) % len(ends)]
        try:
            seen.append(await tell(speaker, listener, start + number * every, number))
        except (ConnectionError, TimeoutError) as error:
            seen.append(str(error) or type(error).__name__)
            return


async def measured(port: int, sockets: list[Sockets], *, every: float, seconds: float) -> dict[str, Any]:
    """All conversations at once; each begins a little later than the one before."""
    flat = [each for conversation in sockets for each in conversation]
    people = iter(await connected({"sockets": flat, "port": port}, Person))
    ends = [[next(people) for _ in conversation] for conversation in sockets]
    pause, now = every / len(ends[0]), time.monotonic() + 1
    seen: list[float | str] = []
    await asyncio.gather(
        *(
            talk(each, pause, now + pause * place / len(ends), round(seconds / pause), seen)
            for place, each in enumerate(ends)
        )
    )
    times = 1000 * np.array([each for each in seen if isinstance(each, float)])
    return {
        "messages": len(times),
        "per_second": round(len(times) / seconds, 1),
        "errors": sorted({each for each in seen if isinstance(each, str)}),
        "ms": {f"p{q}": round(float(np.percentile(times, q)), 2) for q in (50, 95, 99, 100)},
    }


def pairs_of(number: int) -> list[Sockets]:
    """New conversations of two people."""
    from django.db import transaction
    from django.utils import timezone

    from turnwise.crowd.entry.enrolment import consent
    from turnwise.crowd.entry.sessions import COOKIE, signed
    from turnwise.crowd.places.assignment import admit
    from turnwise.dialogues.services import SeatOccupant, create_dialogue
    from turnwise.studies.models import Study
    from turnwise.tasks.two_people.models import TwoPeoplePlan

    study = make_study("before_finish")
    Study.objects.filter(pk=study.pk).update(task="two_people", opening_text="", opening_speaker="human")
    study.refresh_from_db()
    TwoPeoplePlan.objects.create(study=study, conversations=number)
    version = study.consent_versions.last()
    found = []
    with transaction.atomic():
        for _ in range(number):
            taken = [consent(study, version, known=None, arrival=None) for _ in range(2)]
            first, second = (SeatOccupant(assignment=admit(each.pk)) for each in taken)
            dialogue = create_dialogue(study, first, second, now=timezone.now())
            path = f"/ws/dialogues/{dialogue.public_id}/"
            found.append([(path, f"{COOKIE}={signed(each)}") for each in taken])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two messages of a person")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        stack.enter_context(services())
        of_bot = make_study("before_finish")
        people = pairs_of(options.pairs)
        with_bot = [[socket] for socket in dialogues_of(of_bot, 2 * options.pairs)]
        server = Server("turnwise", "benchmarks.unbounded:application", [], cores[0] if cores[1:] else None)
        server.start()
        stack.callback(server.stop)
        if cores[1:]:
            os.sched_setaffinity(0, {cores[-1]})
        pace = {"every": options.every, "seconds": options.seconds}
        result = {
            "pairs": options.pairs,
            "every_s": options.every,
            "partner_delivery": uvloop.run(measured(server.port, people, **pace)),
            "human_bot_turn": uvloop.run(measured(server.port, with_bot, **pace)),
            "server_mb": server.memory_mb(),
            "machine": {"cores": len(cores), "python": platform.python_version(), "load": os.getloadavg()},
        }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
