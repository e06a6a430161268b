"""Let pairs talk and annotate through the real socket; check every count and time the messages.

    python benchmarks/collection.py [--pairs 20] [--conversations 100] [--turns 20] [--every 1]

Starts its own PostgreSQL (durable) and Redis in a temporary folder and one web server, pinned to one core;
the load runs on the other. So many pairs talk at a time, one conversation after another, each about an
article of a made-up base; while the partner writes, each annotates their own message and the partner's. In
every tenth conversation one closes the browser half way and does not come back. The time is from the moment
in which a message was due to be sent until the partner's socket has it, committed. As many people then talk
with GenericBot at the same pace. A few of both kinds go before and are not counted: what a server loads at
its first message would else be most of a p99. Prints one JSON object, and fails if a count is not what was
said.
"""

import argparse
import asyncio
import json
import os
import platform
import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

import numpy as np
import psutil
import uvloop
from typing_extensions import override

from benchmarks.load import TEXT, connected, kind_of, packed
from benchmarks.pairs import PATIENCE, Person, Sockets, measured, tell
from benchmarks.reading_sets import base_of
from benchmarks.services import services
from benchmarks.turns import Server, dialogues_of, make_study

LEAVES = 10
"""One of so many conversations is left half way."""
WARMING = 4
"""Conversations of each kind before those that count."""
OWN = {"sentiment": "Happy", "source": ["FS1", "Personal Knowledge"]}
QUALITY = {"quality": 4}


class Annotator(Person):
    """A worker who also annotates; records what was saved, and whether the work is finished."""

    saved = 0
    finished = False

    @override
    def on_frame(self, opcode: int, payload: bytes) -> None:
        kind = kind_of(payload) if opcode == TEXT else ""
        if kind == "label_saved":
            self.saved += 1
        elif kind == "state":
            self.finished = bool(json.loads(payload).get("finished"))
        super().on_frame(opcode, payload)

    def answer(self, ask: int, position: int | None, answers: dict[str, Any]) -> None:
        self.say(type="label", ask=ask, position=position, answers=answers)

    def say(self, **frame: Any) -> None:
        self.transport.write(packed(json.dumps(frame).encode()))

    async def until(self, what: str, is_so: Any) -> None:
        """Wait until something was told.

        Raises:
            ConnectionError: the socket was closed, or a frame refused.
            TimeoutError: it was not told.
        """
        patience = time.monotonic() + PATIENCE
        while not is_so():
            if self.end:
                raise ConnectionError(self.end)
            if time.monotonic() > patience:
                raise TimeoutError(f"waited in vain for {what}")
            await asyncio.sleep(0.01)


async def converse(
    two: list[Annotator], turns: int, every: float, seen: list[float], *, leaves: bool
) -> None:
    """One conversation with all its annotations, or half of one."""
    begun = time.monotonic() + every
    for number in range(turns // 2 if leaves else turns):
        speaker, listener = two[number % 2], two[1 - number % 2]
        seen.append(await tell(speaker, listener, begun + number * every, number))
        speaker.answer(0, number, OWN)
        listener.answer(1, number, QUALITY)
    said = turns // 2 if leaves else turns
    for one in two:
        await one.until("its annotations", lambda one=one: one.saved == said)
    if leaves:
        two[1].transport.close()
    else:
        for one in two:
            one.answer(2, None, QUALITY)
            await one.until("its rating of the whole", lambda one=one: one.saved == said + 1)
            one.say(type="finish")
            await one.until("the end", lambda one=one: one.finished)
    for one in two:
        one.transport.close()


async def collected(port: int, talks: list[Sockets], options: argparse.Namespace) -> dict[str, Any]:
    """All conversations, so many pairs at a time."""
    left, seen, errors = list(enumerate(talks)), list[float](), Counter[str]()

    async def one_pair(delay: float) -> None:
        await asyncio.sleep(delay)
        while left:
            number, sockets = left.pop(0)
            two = await connected({"sockets": sockets, "port": port}, Annotator)
            try:
                leaves = number % LEAVES == LEAVES - 1
                await converse(two, options.turns, options.every, seen, leaves=leaves)
            except (ConnectionError, TimeoutError) as error:
                errors[str(error) or type(error).__name__] += 1

    await asyncio.gather(*(one_pair(options.every * n / options.pairs) for n in range(options.pairs)))
    times = 1000 * np.array(seen)
    shown = {f"p{q}": round(float(np.percentile(times, q)), 2) for q in (50, 95, 99, 100)}
    return {"messages": len(times), "errors": dict(errors), "ms": shown}


def conversations_of(number: int, turns: int, name: str = "collection") -> tuple[Any, list[Sockets]]:
    """A study as the paper's, and the sockets of so many new pairs in it."""
    from django.db import transaction
    from django.utils import timezone

    from turnwise.accounts.models import User
    from turnwise.crowd.entry.enrolment import consent
    from turnwise.crowd.entry.sessions import COOKIE, signed
    from turnwise.crowd.places.assignment import admit
    from turnwise.dialogues.services import SeatOccupant, create_dialogue
    from turnwise.knowledge.models import KnowledgeBase
    from turnwise.knowledge.services import import_version
    from turnwise.studies.presets import preset_named
    from turnwise.studies.services import save_study, set_state
    from turnwise.tasks.two_people.models import TwoPeoplePlan

    owner = User.objects.get(username="bench")
    base = KnowledgeBase.objects.create(owner=owner, name=name, title="Made up", licence="none")
    preset = preset_named("topical-chat")
    assert preset
    study = preset.study()
    study.title, study.languages, study.min_turns = "Collection", ["en"], turns
    study.knowledge = import_version(base, base_of((60, number // 2)), origin="benchmark")
    save_study(study, owner=owner, consent_text="A measurement.", targets={}, asks=preset.asks)
    TwoPeoplePlan.objects.create(study=study, conversations=number)
    study = set_state(study.pk, study.State.OPEN)
    version, found = study.consent_versions.latest("pk"), []
    with transaction.atomic():
        for _ in range(number):
            taken = [consent(study, version, known=None, arrival=None) for _ in range(2)]
            first, second = (SeatOccupant(assignment=admit(each.pk)) for each in taken)
            dialogue = create_dialogue(study, first, second, now=timezone.now())
            path = f"/ws/dialogues/{dialogue.public_id}/"
            found.append([(path, f"{COOKIE}={signed(each)}") for each in taken])
    return study, found


def counted(study: Any) -> dict[str, int]:
    """Count the stored rows."""
    from turnwise.dialogues.models import Turn
    from turnwise.labels.models import Label

    stored = study.dialogues.filter(ending="complete").count()
    labels = Counter(Label.objects.filter(study=study).values_list("question_set", flat=True))
    return {"finished": stored, "turns": Turn.objects.filter(dialogue__study=study).count(), **labels}


def expected(conversations: int, turns: int) -> dict[str, int]:
    """Expected numbers of rows."""
    left = conversations // LEAVES
    finished = conversations - left
    said = finished * turns + left * (turns // 2)
    return {
        "finished": finished,
        "turns": said,
        "topical-chat-own": said,
        "topical-chat-partner": said,
        "topical-chat-conversation": 2 * finished,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pairs", type=int, default=20, help="that talk at a time")
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two messages")
    options = parser.parse_args()
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        stack.enter_context(services())
        of_bot = make_study("before_finish")
        study, talks = conversations_of(options.conversations, options.turns)
        _, before = conversations_of(WARMING, 4, "before")
        with_bot = [[socket] for socket in dialogues_of(of_bot, WARMING + 2 * options.pairs)]
        server = Server("turnwise", "benchmarks.unbounded:application", [], cores[0] if cores[1:] else None)
        server.start()
        stack.callback(server.stop)
        if cores[1:]:
            os.sched_setaffinity(0, {cores[-1]})
        warming = argparse.Namespace(pairs=WARMING, turns=4, every=0.5)
        uvloop.run(collected(server.port, before, warming))
        uvloop.run(measured(server.port, with_bot[:WARMING], every=0.5, seconds=2))
        process = psutil.Process(server.process.pid)
        begun = sum(process.cpu_times()[:2])
        people = uvloop.run(collected(server.port, talks, options))
        between = sum(process.cpu_times()[:2])
        people["server_cpu_ms_per_message"] = round(1000 * (between - begun) / people["messages"], 2)
        pace = {"every": 2 * options.every, "seconds": options.turns * options.every}
        bots = uvloop.run(measured(server.port, with_bot[WARMING:], **pace))
        spent = sum(process.cpu_times()[:2]) - between
        bots["server_cpu_ms_per_message"] = round(1000 * spent / bots["messages"], 2)
        found, wanted = counted(study), expected(options.conversations, options.turns)
        result = {
            **vars(options),
            "counts": found,
            "counts_are_exact": found == wanted,
            "partner_delivery": people,
            "human_bot_turn": bots,
            "p99_ratio": round(people["ms"]["p99"] / bots["ms"]["p99"], 2),
            "server_mb": server.memory_mb(),
            "machine": {"cores": len(cores), "python": platform.python_version(), "load": os.getloadavg()},
        }
    print(json.dumps(result, indent=2))
    if found != wanted:
        raise SystemExit(f"Counts are {found}, and should be {wanted}.")


if __name__ == "__main__":
    main()
