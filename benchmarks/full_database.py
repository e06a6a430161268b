"""Processor time in a database of 10 million turns, beside the same in one of 300,000 turns.

    python benchmarks/full_database.py [--turns 10000000] [--rounds 3] [--keep FOLDER] [--explain FOLDER]

Fills two PostgreSQL servers of its own by COPY: on average 10,000 turns, 500 conversations and 5,000 labels
for each study, one study in ten for readers. Ten studies run at a time and belong to one researcher, so what
that person's pages show has the same size in both; in both, more studies run than an admin's Home shows.
Then it measures the processor time of server and PostgreSQL alternately in both: a turn, a turn with its
label, a judgment with the next item of the queue, Home, and pages of one study. Pages are read with an empty
cache. Prints JSON.

With --explain, each statement that the servers sent is kept with EXPLAIN (ANALYZE, BUFFERS). What functions
of the database do inside is seen in `rows_read`: rows that each step reads of the tables, by sequential scans
and through indexes.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.full_rows import counted, fill, is_filled
from benchmarks.labelling_queue import on_sockets
from benchmarks.pages import cookies, spent
from benchmarks.services import services
from benchmarks.turns import Bench, Server, dialogues_of, make_study

SMALL = 300_000
CHATS, SECONDS = 100, 2.0  # conversations that a measurement uses, and how long it lasts
RATERS, ITEMS = 20, 300
READ = 20  # times that each page is read in a measurement

Result = dict[str, Any]


class Side:
    """One installation with its own PostgreSQL, Redis and server, in a process of its own."""

    def __init__(self, turns: int, folder: Path | None, stack: ExitStack) -> None:
        self.database, redis = stack.enter_context(services(folder=folder))
        began = time.monotonic()
        if not is_filled():
            fill(turns)
        self.rows = counted() | {"fill_seconds": round(time.monotonic() - began)}
        self.chats, self.labelled = make_study("before_finish"), make_study("each_turn")
        self.server = Server("turnwise", "benchmarks.unbounded:application", [], None)
        self.server.start()
        stack.callback(self.server.stop)
        assert self.database.process
        assert redis.process
        self.watched = {"server": self.server.process.pid, "postgresql": self.database.process.pid}
        self.bench = Bench({"turnwise": self.server}, self.watched, None, SECONDS)
        self.researcher, self.admin = cookies()
        self.measures: dict[str, Callable[[], Result]] = {
            "turn, 1 chatter": lambda: self.turn(1),
            "turn and label, 1 chatter": lambda: self.turn(1, labelling=True),
            "judgment and next item, 20 raters": self.judgment,
            "Home": lambda: self.page("/home/"),
            "study": lambda: self.page("/studies/2/"),
            "study of readers": lambda: self.page("/studies/1/"),
            "turn, 20 chatters": lambda: self.turn(20),
            "Home of an admin": lambda: self.page("/home/", self.admin),
            "studies, all, for an admin": lambda: self.page("/studies/", self.admin),
            "study: monitor": lambda: self.page("/studies/2/monitor/"),
            "study of readers: queue": lambda: self.page("/studies/1/queue/"),
            "turn and label, 20 chatters": lambda: self.turn(20, labelling=True),
            "study: participants": lambda: self.page("/studies/2/participants/"),
            "study: conversations": lambda: self.page("/studies/2/dialogues/"),
        }

    def turn(self, chatters: int, *, labelling: bool = False) -> Result:
        study = self.labelled if labelling else self.chats
        sockets = dialogues_of(study, CHATS)
        seen = self.bench.load("turnwise", sockets, chatters=chatters, labelling=labelling)
        assert not seen["errors"], seen["errors"]
        return _microseconds(seen, "turn") | {"times": seen["turns"]}

    def judgment(self) -> Result:
        options = Namespace(items=ITEMS, raters=RATERS, seconds=SECONDS)
        seen = on_sockets(self.server, self.watched, options, per_second=None)
        return _microseconds(seen, "judgment") | {"times": seen["with_warm_up"]}

    def page(self, address: str, cookie: str = "") -> Result:
        """Processor time of a page, read so many times over one connection, with an empty cache each time."""
        from django.core.cache import cache

        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=600)
        before: dict[str, float] = {}
        for attempt in range(READ + 1):
            cache.clear()
            connection.request("GET", address, headers={"Cookie": cookie or self.researcher})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, (address, answer.status)
            if not attempt:  # the first one compiles templates
                before = {name: spent(pid) for name, pid in self.watched.items()}
        connection.close()
        used = {n: round(1e6 * (spent(pid) - before[n]) / READ) for n, pid in self.watched.items()}
        return {**used, "times": READ}

    def rows_read(self, measure: str) -> Result:
        """Rows that one step reads of each table: by sequential scans and through indexes."""
        before = _rows_of_tables()
        times = self.measures[measure]()["times"]
        after = _rows_of_tables()
        rows = {}
        for table, counts in after.items():
            own = [round((new - old) / times, 1) for new, old in zip(counts, before[table], strict=True)]
            if any(own):
                rows[table] = dict(zip(("sequential", "index"), own, strict=True))
        return rows

    def explained(self, measure: str) -> str:
        """The plan of each statement that servers send during a measurement, as it is carried out again."""
        log = self.database.folder / "server.log"
        _set_logging("0")
        begin = log.stat().st_size
        self.measures[measure]()
        _set_logging("-1")
        with log.open("rb") as lines:
            lines.seek(begin)
            sent = statements(lines.read().decode(errors="replace"))
        return "\n".join(_plan(statement) for statement in sent)


def _microseconds(seen: Result, step: str) -> Result:
    return {name: seen[f"{name}_cpu_us_per_{step}"] for name in ("server", "postgresql")}


def _rows_of_tables() -> dict[str, tuple[int, int]]:
    from django.db import connection

    time.sleep(1.2)  # PostgreSQL's processes report their counts once a second
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname, seq_tup_read, coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables")
        return {name: (sequential, index) for name, sequential, index in cursor.fetchall()}


def _set_logging(milliseconds: str) -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"ALTER SYSTEM SET log_min_duration_statement = {milliseconds}")
        cursor.execute("SELECT pg_reload_conf()")
    time.sleep(0.5)


LOGGED = re.compile(r"LOG:  duration: ([0-9.]+) ms  statement: (.*?)(?=\n\d{4}-\d\d-\d\d |\Z)", re.DOTALL)
LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+\b")
OF_ROWS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


def statements(log: str) -> list[str]:
    """Of statements that differ in their values only, the slowest one."""
    slowest: dict[str, tuple[float, str]] = {}
    for milliseconds, statement in LOGGED.findall(log):
        if not statement.lstrip(" (\n\t").startswith(OF_ROWS):
            continue
        kind = re.sub(r"\?(, ?\?)+", "?", LITERAL.sub("?", statement))
        slowest[kind] = max(slowest.get(kind, (0.0, "")), (float(milliseconds), statement))
    return [statement for _, statement in slowest.values()]


def _plan(statement: str) -> str:
    from django.db import DatabaseError, connection, transaction

    plan = ""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("EXPLAIN (ANALYZE, BUFFERS) " + statement)
            plan = "\n".join(line for (line,) in cursor.fetchall())
            transaction.set_rollback(True)
    except DatabaseError as error:  # what it did cannot be done twice
        plan = f"not carried out again: {error}"
    return f"{statement}\n\n{plan}\n{'-' * 80}"


def side(turns: int, folder: Path | None, line: Connection) -> None:
    """Serve one side: each request is a method with its argument."""
    with ExitStack() as stack:
        own = Side(turns, folder, stack)
        line.send(list(own.measures))
        line.send(own.rows)
        while request := line.recv():
            method, measure = request
            line.send(own.measures[measure]() if method == "measure" else getattr(own, method)(measure))


def answer_of(line: Connection, method: str, measure: str) -> Any:
    line.send((method, measure))
    return line.recv()


def compared(small: list[Result], full: list[Result]) -> Result:
    """Medians of both sides, in microseconds, and the ratio of each pair that was measured in turn."""
    both = {"small": small, "full": full}
    found: Result = {
        name: {key: round(float(np.median([each[key] for each in seen]))) for key in seen[0]}
        for name, seen in both.items()
    }
    for part in ("server", "postgresql", "together"):
        ratios = [_part(b, part) / max(1, _part(a, part)) for a, b in zip(small, full, strict=True)]
        found[f"ratio_{part}"] = round(float(np.median(ratios)), 3)
    return found | {"ratios_together": [round(ratio, 2) for ratio in ratios]}


def _part(seen: Result, part: str) -> float:
    return float(seen["server"] + seen["postgresql"] if part == "together" else seen[part])


def measured(options: argparse.Namespace) -> Result:
    with ExitStack() as stack:
        lines: dict[str, Connection] = {}
        for name, turns in {"small": min(SMALL, options.turns), "full": options.turns}.items():
            here, there = get_context("spawn").Pipe()
            folder = options.keep and options.keep / f"{name}-{turns}"  # another size is another database
            process = get_context("spawn").Process(target=side, args=(turns, folder, there))
            process.start()
            there.close()
            stack.callback(process.join)
            stack.callback(here.send, None)
            lines[name] = here
        measures, _ = (line.recv() for line in lines.values())
        rows = {name: line.recv() for name, line in lines.items()}
        found: Result = {"rows": rows}
        for measure in measures:
            if options.only in measure:
                found[measure] = _alternately(lines, measure, options.rounds)
                reads = {name: answer_of(line, "rows_read", measure) for name, line in lines.items()}
                found[measure]["rows_read"] = reads
                print(json.dumps({measure: found[measure]}), file=sys.stderr, flush=True)
                if options.explain:
                    _keep_plans(lines, measure, options.explain)
        return found


def _alternately(lines: dict[str, Connection], measure: str, rounds: int) -> Result:
    seen: dict[str, list[Result]] = {name: [] for name in lines}
    for number in range(rounds + 1):
        order = list(lines) if number % 2 else list(lines)[::-1]
        for name in order:
            result = answer_of(lines[name], "measure", measure)
            if number:  # the first one warms up
                seen[name].append(result)
    return compared(seen["small"], seen["full"])


def _keep_plans(lines: dict[str, Connection], measure: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, line in lines.items():
        file = folder / f"{re.sub('[^a-z0-9]+', '-', measure.lower())}.{name}.txt"
        file.write_text(answer_of(line, "explained", measure))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="Only measures with this in their name.")
    parser.add_argument(
        "--keep", type=Path, help="Folder for both databases, which the next run finds filled."
    )
    parser.add_argument("--explain", type=Path, help="Folder for the plans of all statements.")
    options = parser.parse_args()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    # The database, its write-ahead log, and a margin.
    assert shutil.disk_usage(options.keep or "/tmp").free > 2_000 * options.turns, "Too little disk."
    surroundings = {"cores": len(os.sched_getaffinity(0)), "load_average_before": os.getloadavg()[0]}
    print(json.dumps(surroundings | measured(options) | {"load_average_after": os.getloadavg()[0]}, indent=2))


if __name__ == "__main__":
    main()
