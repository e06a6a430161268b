"""Turns per second of one server process, and the time to a reply.

    python benchmarks/turns.py [--repetitions 3] [--seconds 2] [--open-seconds 10]

Starts its own PostgreSQL (durable) and Redis in a temporary folder and four servers with the options
of `manage.py serve`: the product with GenericBot, and the bare consumers of `floors.py`. They are
measured by turns, so that whatever else the machine does disturbs them alike. Prints one JSON object.

A turn is a `turn` frame sent and its `bot_turn` received: the product has then stored both.
"""

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.services import services
from turnwise.project.supervision.installation import listen
from turnwise.project.supervision.processes import spawn, stop

ROOT = Path(__file__).resolve().parents[1]
WEB = ("-m", "turnwise.project.supervision.keeper", "--once", "turnwise.project.web_server")
CHATTERS = (1, 20, 200)
OPEN_CHATTERS, OPEN_EVERY = 500, 2.0
WARM_UP = 0.5
# In a closed loop fewer chatters share this many dialogues, so that those stay about as long as real ones.
DIALOGUES = 500
LIBRARIES = ("Django", "channels", "uvicorn", "uvloop", "websockets", "psycopg2-binary")

Result = dict[str, Any]


@dataclass
class Server:
    """A uvicorn process pinned to one core."""

    name: str
    application: str
    options: list[str]
    core: int | None
    process: subprocess.Popen[bytes] = field(init=False)
    port: int = field(init=False)

    def start(self) -> None:
        with listen("127.0.0.1", 0) as listener:
            self.port = listener.getsockname()[1]
            fd = listener.fileno()
            web = [*WEB, "--application", self.application, *self.options, "--fd", str(fd)]
            self.process = spawn([sys.executable, *web], pass_fds=[fd])
        if self.core is not None:
            psutil.Process(self.process.pid).cpu_affinity([self.core])
        self._wait_until_it_answers()

    def _wait_until_it_answers(self) -> None:
        request = b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=300) as connection:
            connection.sendall(request)  # the socket listens already: this waits in its queue
            if not connection.recv(100).startswith(b"HTTP/1.1 200"):
                raise SystemExit(f"The server {self.name} does not start; its log is above.")

    def memory_mb(self) -> int:
        return round(psutil.Process(self.process.pid).memory_info().rss / 2**20)

    def stop(self) -> None:
        stop(self.process)


@dataclass
class Bench:
    servers: dict[str, Server]
    services: dict[str, int]
    load_core: int | None
    seconds: float

    def load(
        self, name: str, sockets: list[tuple[str, str]], *, chatters: int, every: float | None = None,
        labelling: bool = False, seconds: float | None = None,
    ) -> Result:  # fmt: skip
        server = self.servers[name]
        seconds = seconds or self.seconds
        job = {
            "port": server.port, "sockets": sockets, "chatters": chatters, "every": every,
            "core": self.load_core, "labelling": labelling, "seconds": seconds,
            "warm_up": max(WARM_UP, every or 0), "watch": {"server": server.process.pid, **self.services},
        }  # fmt: skip
        command = [sys.executable, str(ROOT / "benchmarks" / "load.py")]
        done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"The load for {name} failed:\n{done.stderr}")
        seen: Result = json.loads(done.stdout)
        turns = max(1, seen["turns"])
        used = {
            f"{who}_cpu_us_per_turn": round(1e6 * s / turns) for who, s in seen.pop("cpu_seconds").items()
        }
        return {"turns_per_s": seen["turns"] / seconds, **seen, **used}

    def compare(self, chatters: int, repetitions: int, study: Any) -> Result:
        """Every server at this number of chatters, by turns; medians over the repetitions."""
        seen: dict[str, list[Result]] = {name: [] for name in self.servers}
        for _ in range(repetitions):
            for name in self.servers:
                number = max(DIALOGUES, chatters)
                sockets = dialogues_of(study, number) if name == "turnwise" else nowhere(number)
                seen[name].append(self.load(name, sockets, chatters=chatters))
        medians: Result = {name: median_of(results) for name, results in seen.items()}
        for name in sorted(set(self.servers) - {"turnwise"}):
            pairs = list(zip(seen["turnwise"], seen[name], strict=True))
            medians[f"ratio_to_{name}"] = spread([a["turns_per_s"] / b["turns_per_s"] for a, b in pairs])
            # What the ratio would be if nothing but the server's core were scarce.
            cpu = "server_cpu_us_per_turn"
            medians[f"ratio_to_{name}_by_cpu"] = spread([b[cpu] / a[cpu] for a, b in pairs])
        return medians


def median_of(results: list[Result]) -> Result:
    """Medians, number by number; errors are added up."""
    merged: Result = {}
    for key, value in results[0].items():
        if key == "errors":
            merged[key] = sum(sum(result[key].values()) for result in results)
            kinds = sorted({kind for result in results for kind in result[key]})
            merged |= {"kinds_of_errors": kinds} if kinds else {}
        elif isinstance(value, dict):
            merged |= {f"{key}_{q}": median([result[key][q] for result in results]) for q in value}
        else:
            merged[key] = median([result[key] for result in results])
    return merged


def median(values: list[float]) -> float:
    return round(float(np.median(values)), 2)


def spread(values: list[float]) -> Result:
    return {"median": round(float(np.median(values)), 2), "all": [round(value, 2) for value in values]}


def nowhere(number: int) -> list[tuple[str, str]]:
    return [("/", "none")] * number


# --- the product's own data: studies, workers and dialogues, made through its services -----------


def make_study(moment: str) -> Any:
    from turnwise.accounts.models import User
    from turnwise.bots.services import register_bot
    from turnwise.studies.asks import UNDER_EACH_REPLY, Moment
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study, set_state

    owner = User.objects.filter(username="bench").first() or User.objects.create_user("bench")
    bot = register_bot(name="generic", title="GenericBot", adapter="generic")
    study = Study(title=moment, languages=["en"], max_turns=500)
    asks = [replace(UNDER_EACH_REPLY, moment=Moment(moment))]
    save_study(study, owner=owner, consent_text="A measurement.", targets={bot: 100_000}, asks=asks)
    return set_state(study.pk, Study.State.OPEN)


def dialogues_of(study: Any, number: int) -> list[tuple[str, str]]:
    """New dialogues, each with a new worker: socket path and cookie."""
    from django.db import transaction

    from turnwise.crowd.entry.enrolment import consent
    from turnwise.crowd.entry.sessions import COOKIE, signed
    from turnwise.crowd.places.assignment import assign
    from turnwise.dialogues.services import begin

    consent_version = study.consent_versions.last()
    sockets = []
    with transaction.atomic():
        for _ in range(number):
            participation = consent(study, consent_version, known=None, arrival=None)
            dialogue = begin(assign(participation.pk))
            cookie = f"{COOKIE}={signed(participation)}"
            sockets.append((f"/ws/dialogues/{dialogue.public_id}/", cookie))
    return sockets


def make_floor_table() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE floor_turn (id bigserial PRIMARY KEY, dialogue bigint, position int, text text)"
        )


# --- the stage -----------------------------------------------------------------------------------


@contextmanager
def staged(seconds: float) -> Iterator[Bench]:
    """Services, tables, and the servers, all gone at the end."""
    cores = sorted(os.sched_getaffinity(0))
    pinned = len(cores) > 1
    with ExitStack() as stack:
        postgresql, redis = stack.enter_context(services())
        make_floor_table()
        servers = [
            Server(name, f"benchmarks.{application}", options, cores[0] if pinned else None)
            for name, application, options in (
                ("floor", "floors:floor", ["--lifespan", "off"]),
                ("turnwise", "unbounded:application", []),
                ("wide_floor", "floors:wide_floor", ["--lifespan", "off"]),
                ("echo", "floors:echo", ["--lifespan", "off"]),
            )
        ]
        make_study("before_finish")  # registers the bot, so that the product loads it when it starts
        for server in servers:
            server.start()
            stack.callback(server.stop)
        started = {"postgresql": postgresql.process, "redis": redis.process}
        pids = {name: process.pid for name, process in started.items() if process}
        yield Bench({s.name: s for s in servers}, pids, cores[-1] if pinned else None, seconds)


def measured(options: argparse.Namespace) -> Result:
    with staged(options.seconds) as bench:
        at_rest = bench.servers["turnwise"].memory_mb()
        free, each_turn = make_study("before_finish"), make_study("each_turn")
        closed = {str(n): bench.compare(n, options.repetitions, free) for n in options.chatters}
        labelled = [
            bench.load("turnwise", dialogues_of(each_turn, DIALOGUES), chatters=20, labelling=True)
            for _ in range(options.repetitions)
        ]
        by_the_clock = {}
        for name in ("floor", "turnwise"):
            n = options.open_chatters
            sockets = dialogues_of(free, n) if name == "turnwise" else nowhere(n)
            by_the_clock[name] = bench.load(
                name, sockets, chatters=n, every=OPEN_EVERY, seconds=options.open_seconds
            )
        return {
            "closed_loop": closed,
            "closed_loop_20_chatters_who_label_each_turn": median_of(labelled),
            f"open_loop_{options.open_chatters}_chatters_every_{OPEN_EVERY:g}_s": by_the_clock,
            "server_memory_mb": {"after_start": at_rest, "after_all": bench.servers["turnwise"].memory_mb()},
            "database_threads": {"floor": 4, "others": int(os.environ["TURNWISE_DATABASE_THREADS"])},
            "pinned": {
                "server": "core 0" if bench.load_core is not None else "nowhere",
                "load": f"core {bench.load_core}" if bench.load_core is not None else "nowhere",
                "postgresql, redis": "nowhere: the system places them",
            },
        }


def surroundings() -> Result:
    return {
        "cores": len(os.sched_getaffinity(0)),
        "load_average_before": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "postgresql": "fsync on, synchronous commit",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=3, help="of each closed loop (default: 3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="each repetition lasts (default: 2)")
    parser.add_argument("--open-seconds", type=float, default=10.0, help="the open loop lasts (default: 10)")
    parser.add_argument("--open-chatters", type=int, default=OPEN_CHATTERS, help="(default: %(default)s)")
    parser.add_argument(
        "--chatters", type=int, nargs="+", default=CHATTERS, help="closed loops (default: 1 20 200)"
    )
    options = parser.parse_args()
    began = time.monotonic()
    result = surroundings() | measured(options)
    print(json.dumps(result | {"duration_s": round(time.monotonic() - began)}, indent=2))


if __name__ == "__main__":
    main()
