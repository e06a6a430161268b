"""Replay human turns through full sessions, with planted labels, and check the report against them.

    python benchmarks/replay.py FILE [--conversations 20] [--turns 14] [--at-once 10]
    python benchmarks/replay.py FILE --url http://127.0.0.1:8000/ --admin NAME   (password: TURNWISE_PASSWORD)

FILE has JSON Lines, plain or .gz: each a conversation {"turns": [{"text": …}, …]}, or a turn {"text": …}.
Every conversation is a worker of its own who comes by the study link, consents, reads the instructions,
chats over the WebSocket, labels each reply by the rule of `planted`, finishes, and takes the completion code.
Prints one JSON object; ends with 1 and a sentence if the report or the export differs from what was planted.
Without --url it runs `manage.py serve` on a temporary folder.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from turnwise.rehearsals.page_visitor import PageError, Visitor
from turnwise.rehearsals.simulated_worker import Conversation, MismatchError, open_work_page

ROOT = Path(__file__).resolve().parents[1]
BOT = "GenericBot"
START_SECONDS = 120.0
REPORT_SECONDS = 120.0

Answers = dict[str, bool]
# Of one session: by dialogue and position of each reply, the message before it and the reply.
Said = dict[tuple[str, int], tuple[str, str]]


def conversations_in(file: Path) -> list[list[str]]:
    """The texts of each conversation; a file of single turns is one conversation.

    Raises:
        SystemExit: the file cannot be read, or holds no turns.
    """
    try:
        found = [texts for texts in _texts(file) if texts]
    except (OSError, EOFError) as error:
        raise SystemExit(
            f"{file} cannot be read: {error}. Give a file of JSON Lines, plain or .gz."
        ) from None
    except (ValueError, LookupError, TypeError, AttributeError):
        found = []
    if not found:
        raise SystemExit(f'{file} holds no turns. Give JSON Lines with {{"turns": [{{"text": "…"}}]}}.')
    return found


def _texts(file: Path) -> list[list[str]]:
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines if line.strip()]
    if rows and "turns" not in rows[0]:
        rows = [{"turns": rows}]
    return [[turn["text"].strip() for turn in row["turns"] if turn["text"].strip()] for row in rows]


def injected_label(conversation: int, position: int) -> Answers:
    """The label of a reply, fixed by where it stands: 7 in 10 sensible, 6 in 10 of those specific."""
    draw = hashlib.sha256(f"{conversation}:{position}".encode()).digest()
    if draw[0] >= 179:
        return {"sensible": False}
    return {"sensible": True, "specific": draw[1] < 154}


@dataclass(frozen=True)
class Scores:
    """Exact shares, and what they rest on."""

    sensibleness: Fraction
    specificity: Fraction
    conversations: int
    turns: int

    @property
    def ssa(self) -> Fraction:
        return (self.sensibleness + self.specificity) / 2

    def in_percent(self) -> dict[str, float]:
        shares = {"sensibleness": self.sensibleness, "specificity": self.specificity, "ssa": self.ssa}
        return {name: round(float(100 * share), 4) for name, share in shares.items()}


def injected_scores(conversations: int, replies: int) -> Scores:
    labels = [
        injected_label(number, 2 * reply)
        for number in range(conversations)
        for reply in range(1, replies + 1)
    ]
    return Scores(
        Fraction(sum(label["sensible"] for label in labels), len(labels)),
        Fraction(sum(label.get("specific", False) for label in labels), len(labels)),
        conversations,
        len(labels),
    )


# --- a worker ------------------------------------------------------------------------------------


async def session(server: str, link: str, number: int, texts: list[str]) -> Said:
    """One worker from link to completion code; what was said before each reply, and the reply."""
    worker, settings = await asyncio.to_thread(open_work_page, server, link)
    said: Said = {}
    async with Conversation(worker, settings) as conversation:
        for text in texts:
            reply = await conversation.exchange("bot_turn", type="turn", key=str(uuid4()), text=text)
            position = reply["turn"]["position"]
            answers = injected_label(number, position)
            await conversation.exchange("label_saved", type="label", position=position, answers=answers)
            said[settings["dialogue"], position] = (text, reply["turn"]["text"])
        ended = await conversation.exchange("state", type="finish")
    thanks = await asyncio.to_thread(worker.get, ended["finished"])
    if not re.fullmatch(r"\w{8}", thanks.values.get("completion-code", "")):
        raise MismatchError(f"The page {thanks.address} shows no completion code.")
    return said


async def all_sessions(server: str, link: str, texts: list[list[str]], at_once: int) -> list[Said]:
    seats = asyncio.Semaphore(at_once)

    async def seated(number: int, mine: list[str]) -> Said:
        async with seats:
            return await session(server, link, number, mine)

    return await asyncio.gather(*(seated(number, mine) for number, mine in enumerate(texts)))


# --- the researcher ------------------------------------------------------------------------------


def sign_in(server: str, name: str, password: str) -> Visitor:
    researcher = Visitor(server)
    page = researcher.get("/sign-in/")
    after = researcher.submit(page, page.form("/sign-in/"), username=name, password=password)
    if urlsplit(after.address).path == "/sign-in/":
        raise SystemExit(
            f"{server} does not know {name!r} with this password. Correct --admin or TURNWISE_PASSWORD."
        )
    return researcher


def open_study(researcher: Visitor, *, turns: int, target: int) -> tuple[str, str]:
    """Make and open a study with GenericBot; its path for researchers and its link for workers."""
    page = researcher.get("/studies/new/?task=conversation")
    form = page.form("/studies/new/?task=conversation")
    chosen = [name for name, text in page.labels.items() if text.strip() == f"Conversations with {BOT}"]
    if not chosen:
        raise SystemExit(f"{BOT} is not registered at {researcher.server}. An admin can add it under Bots.")
    row = chosen[0].removeprefix("id_").removesuffix("-target")
    filled = {
        "practice": "", "title": f"Replay of {target} conversations", "min_turns": turns, "max_turns": turns,
        "consent_text": "A replay: no person takes part.", f"{row}-chosen": "on", f"{row}-target": target,
    }  # fmt: skip
    study = researcher.submit(page, form, **filled)
    if urlsplit(study.address).path == "/studies/new/":
        raise SystemExit(f"The study was refused: {study.text}")
    overview = researcher.submit(study, study.form("/state/"), state="open")
    return urlsplit(overview.address).path, overview.values["entry-url"]


def wait_for_report(researcher: Visitor, study: str, conversations: int) -> list[str]:
    """Ask for the report and wait until it covers all conversations; the row of the bot."""
    page = researcher.get(f"{study}report/")
    researcher.submit(page, page.form("/refresh/"))
    deadline = time.monotonic() + REPORT_SECONDS
    while True:
        page = researcher.get(f"{study}report/")
        row = next((row for row in page.rows if row[0].strip() == BOT and len(row) >= 8), None)
        if row and "data-running" not in page.text and row[-4].strip() == str(conversations):
            return row
        if time.monotonic() > deadline:
            raise MismatchError(
                f"No report of {conversations} conversations after {REPORT_SECONDS:.0f} s: {row}"
            )
        time.sleep(0.5)


def check_report(row: list[str], expected: Scores) -> None:
    """Compare the figures on the page with the planted ones, to their last digit."""
    shares = (expected.sensibleness, expected.specificity, expected.ssa)
    for name, cell, share in zip(("sensibleness", "specificity", "SSA"), row[1:4], shares, strict=True):
        shown = Fraction(cell.split()[0])
        if abs(shown - 100 * share) > Fraction(1, 20):
            raise MismatchError(
                f"The report shows {name} {float(shown)} and {float(100 * share):.4f} was planted."
            )
    counts = [int(cell) for cell in row[-4:]]
    planted = [expected.conversations, expected.turns, expected.turns, expected.conversations]
    if counts != planted:
        raise MismatchError(
            f"The report counts {counts} conversations, labelled replies, labels and workers; "
            f"planted were {planted}."
        )


def check_export(rows: list[dict[str, Any]], sessions: list[Said]) -> None:
    """Every reply is exported once, with the message before it and its planted label.

    What is not sensible is stored as not specific.
    """
    exported = {
        (row["dialogue"], row["turn"]): (row["context"], row["response"], row["answers"]) for row in rows
    }
    expected = {
        place: (*texts, {"specific": False} | injected_label(number, place[1]))
        for number, said in enumerate(sessions)
        for place, texts in said.items()
    }
    if len(rows) != len(expected):
        raise MismatchError(f"The export has {len(rows)} rows for {len(expected)} labelled replies.")
    for place, turn in expected.items():
        if exported.get(place) != turn:
            raise MismatchError(f"The export has {exported.get(place)} at {place}, and {turn} was sent.")


# --- the stage -----------------------------------------------------------------------------------


@contextmanager
def served() -> Iterator[tuple[str, str, str]]:
    """`manage.py serve` on a temporary folder: its address, and the admin's name and password."""
    with tempfile.TemporaryDirectory(prefix="turnwise-replay-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL runs as another user where root runs this
        said = folder / "said"
        command = [
            sys.executable,
            str(ROOT / "manage.py"),
            "serve",
            "--port",
            "0",
            "--var",
            str(folder / "var"),
        ]
        environment = {
            k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "REDIS_URL", "TURNWISE_VAR")
        }
        with said.open("wb") as output:
            server = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        try:
            yield _welcomed(server, said)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)


def _welcomed(server: "subprocess.Popen[bytes]", said: Path) -> tuple[str, str, str]:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        link = re.search(r"ready: (\S+)", said.read_text())
        admin = re.search(r"Name and password +in (\S+)", said.read_text())
        if link and admin:
            name, _, password = Path(admin[1]).read_text().strip().partition(" / ")
            return link[1], name, password
        time.sleep(0.1)
    raise SystemExit(f"The server did not start. It said:\n{said.read_text()}")


def replay(server: str, name: str, password: str, texts: list[list[str]], at_once: int) -> dict[str, Any]:
    """Run all sessions and compare.

    Raises:
        MismatchError: the report or the export differs from what was planted.
    """
    replies = len(texts[0])
    expected = injected_scores(len(texts), replies)
    researcher = sign_in(server, name, password)
    study, link = open_study(researcher, turns=2 * replies, target=len(texts))
    began = time.monotonic()
    sessions = asyncio.run(all_sessions(server, link, texts, at_once))
    finished = time.monotonic()
    row = wait_for_report(researcher, study, len(texts))
    reported = time.monotonic()
    check_report(row, expected)
    check_export(researcher.download(f"{study}turns.jsonl"), sessions)
    return {
        "conversations": expected.conversations,
        "labelled_turns": expected.turns,
        "planted_percent": expected.in_percent(),
        "reported": [" ".join(cell.split()) for cell in row],
        "sessions_s": round(finished - began, 1),
        "report_after_s": round(reported - finished, 1),
        "equal": True,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, help="JSON Lines of turns, plain or .gz")
    parser.add_argument("--conversations", type=int, default=20, help="(default: %(default)s)")
    parser.add_argument(
        "--turns", type=int, default=14, help="of each, bot's included (default: %(default)s)"
    )
    parser.add_argument(
        "--at-once", type=int, default=10, help="workers at the same time (default: %(default)s)"
    )
    parser.add_argument("--url", help="a running server; by default one is started")
    parser.add_argument("--admin", default="admin", help="who signs in at --url (default: %(default)s)")
    options = parser.parse_args()
    if options.turns < 2 or options.turns % 2 or min(options.conversations, options.at_once) < 1:
        parser.error(
            "--turns takes an even number from 2 up (messages and replies), --conversations and --at-once "
            "one from 1 up."
        )
    found = conversations_in(options.file)
    texts = [
        list(islice(cycle(found[n % len(found)]), options.turns // 2)) for n in range(options.conversations)
    ]
    try:
        if options.url:
            password = os.environ.get("TURNWISE_PASSWORD", "")
            result = replay(options.url, options.admin, password, texts, options.at_once)
        else:
            with served() as server:
                result = replay(*server, texts, options.at_once)
    except (MismatchError, PageError) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(result, indent=2, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
