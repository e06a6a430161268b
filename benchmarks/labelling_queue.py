"""Time the labelling queue, and check its counts when raters crash and walk away.

    python benchmarks/labelling_queue.py [--items 1000] [--raters 100] [--seconds 5]

Starts its own PostgreSQL (durable), Redis and web server. Measures one step of a rater (save the judgment
of an item, get the next) through the service against a bare round trip to the database and a bare durable
insert; then raters on WebSockets, in a closed loop and by the clock at 300 judgments a second; then lets 50
raters in five processes judge every item five times while two of the processes are killed with kill -9.
Prints one JSON object. (Not called queue.py: that would hide Python's own module from every script here.)
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psutil

from benchmarks.load import cpu_seconds
from benchmarks.services import services
from benchmarks.turns import ROOT, Server

RATERS_PER_ITEM = 5
PROCESSES, RATERS_PER_PROCESS = 5, 10
LEASE_SECONDS = 2
PATIENCE = 3 * LEASE_SECONDS
STEPS = 400
CLOCK = 300.0

Result = dict[str, Any]


def make_queue(items: int, *, batch: int, lease: int = 600) -> Any:
    """An open judging study with the responses of one system to so many contexts."""
    from django.utils import timezone

    from turnwise.accounts.models import User
    from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
    from turnwise.judging.items import subjects
    from turnwise.judging.models import JudgingPlan
    from turnwise.responses.models import Response, ResponseRun, Source
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study, set_state

    owner = User.objects.filter(username="bench").first() or User.objects.create_user("bench")
    of = ContextSet.objects.create(name=uuid4().hex, title="Contexts", licence="CC0", owner=owner)
    version = ContextSetVersion.objects.create(context_set=of, number=1, content_hash=uuid4().hex, size=items)
    turns = ["Do you like movies?", "Yeah. I like sci-fi mostly.", "Really? Which is your favorite?"]
    Context.objects.bulk_create(
        Context(version=version, position=n, key=f"c{n}", turns=turns, language="en")
        for n in range(1, items + 1)
    )
    run = ResponseRun.objects.create(
        context_version=version, source=Source.FILE, system="System", owner=owner
    )
    Response.objects.bulk_create(
        Response(run=run, context=context, text="I love Back to the Future.", created_at=timezone.now())
        for context in version.contexts.all()
    )
    study = Study(title="Judging", languages=["en"], task="judging")
    save_study(study, owner=owner, consent_text="A measurement.", targets={})
    plan = JudgingPlan(study=study, raters_per_item=RATERS_PER_ITEM, batch_size=batch)
    subjects.save_plan(plan)
    JudgingPlan.objects.filter(pk=plan.pk).update(lease_seconds=lease)
    subjects.add_responses(study, run)
    return set_state(study.pk, Study.State.OPEN)


def new_batch(study: Any) -> Any:
    from turnwise.crowd.entry.enrolment import consent
    from turnwise.judging.queue import services as judging

    version = study.consent_versions.last()
    return judging.begin(consent(study, version, known=None, arrival=None), language="en")


def one_rater(items: int) -> Result:
    """One step of a rater through the service, beside bare statements on the same connection."""
    from django.db import connection

    from turnwise.judging.queue import services as judging

    study = make_queue(items, batch=500)
    batch = new_batch(study)
    desk = judging.get_rater_session(batch.public_id, batch.worker_id)
    keys = [item["key"] for item in judging.state(desk)["items"]]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS floor_label (id bigserial PRIMARY KEY, answers jsonb)")

    def step() -> None:
        judged = judging.judge(desk, key=UUID(keys.pop(0)), answers={"sensible": True, "specific": False})
        keys.extend(item["key"] for item in judged.leased)

    def round_trip() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchone()

    def insert() -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO floor_label (answers) VALUES (%s)", ['{"sensible": true}'])

    kinds = {"save_and_next": step, "round_trip": round_trip, "durable_insert": insert}
    took = alternately(kinds, min(STEPS, items - 5))
    medians = {name: float(np.median(times)) for name, times in took.items()}
    return {
        **{f"{name}_ms": round(1000 * value, 3) for name, value in medians.items()},
        "save_and_next_to_round_trip": round(medians["save_and_next"] / medians["round_trip"], 2),
        "save_and_next_to_durable_insert": round(medians["save_and_next"] / medians["durable_insert"], 2),
    }


def alternately(kinds: dict[str, Callable[[], None]], times: int) -> dict[str, list[float]]:
    took: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(times):
        for name, call in kinds.items():
            began = time.perf_counter()
            call()
            took[name].append(time.perf_counter() - began)
    return took


def on_sockets(
    server: Server, watched: dict[str, int], options: argparse.Namespace, *, per_second: float | None
) -> Result:
    """All raters together so many judgments a second; None: each the next as soon as the last is saved."""
    from turnwise.crowd.entry.sessions import COOKIE, signed
    from turnwise.crowd.models import Participation

    study = make_queue(8 * options.items, batch=500)  # none of which is left without items in the window
    sockets = []
    for _ in range(options.raters):
        batch = new_batch(study)
        participation = Participation.objects.get(assignment__batch=batch)
        sockets.append((f"/ws/batches/{batch.public_id}/", f"{COOKIE}={signed(participation)}"))
    every = options.raters / per_second if per_second else 0
    job = {
        "port": server.port, "sockets": sockets, "seconds": options.seconds, "warm_up": 1.0, "every": every,
    }  # fmt: skip
    before = {name: cpu_seconds(pid) for name, pid in watched.items()}
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "raters.py"), "sockets"],
        input=json.dumps(job), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"The raters failed:\n{done.stderr}")
    seen: Result = json.loads(done.stdout)
    judgments = max(1, seen["with_warm_up"])
    used = {
        f"{name}_cpu_us_per_judgment": round(1e6 * (cpu_seconds(pid) - before[name]) / judgments)
        for name, pid in watched.items()
    }
    return {"judged_per_s": round(seen["judged"] / options.seconds, 1), **seen, **used}


def counted(items: int) -> Result:
    """Every item five times by raters of whom some walk away and two processes are killed."""
    from turnwise.judging.models import Slot
    from turnwise.labels.models import Label

    study = make_queue(items, batch=min(items, 500), lease=LEASE_SECONDS)
    wanted = items * RATERS_PER_ITEM
    began = time.monotonic()
    processes = [start_raters(study.pk) for _ in range(PROCESSES)]
    killed = 0
    while any(process.poll() is None for process in processes):
        time.sleep(0.5)
        done = Slot.objects.filter(study=study, label__isnull=False).count()
        if killed < 2 and done > wanted * (killed + 1) / 3:
            processes[killed].kill()
            processes.append(start_raters(study.pk))
            killed += 1
    labels = Label.objects.filter(slot__study=study)
    per_item = Counter(Counter(labels.values_list("response_id", flat=True)).values())
    return {
        "raters_at_once": PROCESSES * RATERS_PER_PROCESS,
        "processes_killed": killed,
        "items": items,
        "labels": Label.objects.filter(response__items__study=study).count(),
        "labels_wanted": wanted,
        "items_by_number_of_labels": dict(per_item),
        "workers": study.batches.count(),
        "seconds": round(time.monotonic() - began, 1),
    }


def start_raters(study_id: int) -> "subprocess.Popen[bytes]":
    script = str(ROOT / "benchmarks" / "raters.py")
    arguments = ["threads", str(study_id), str(RATERS_PER_PROCESS), str(PATIENCE)]
    return subprocess.Popen([sys.executable, script, *arguments])


def measured(options: argparse.Namespace) -> Result:
    cores = sorted(os.sched_getaffinity(0))
    with ExitStack() as stack:
        postgresql, _redis = stack.enter_context(services())
        server = Server("turnwise", "benchmarks.unbounded:application", [], None)
        server.start()
        stack.callback(server.stop)
        assert postgresql.process
        watched = {"server": server.process.pid, "postgresql": postgresql.process.pid}
        return {
            "one_rater": one_rater(options.items),
            f"{options.raters}_raters_closed_loop": [
                on_sockets(server, watched, options, per_second=None) for _ in range(options.repetitions)
            ],
            f"{options.raters}_raters_by_the_clock": [
                on_sockets(server, watched, options, per_second=CLOCK) for _ in range(options.repetitions)
            ],
            "exactly_five": counted(options.items),
            "server_memory_mb": server.memory_mb(),
            "cores": len(cores),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=1000, help="judged five times each (default: 1000)")
    parser.add_argument("--raters", type=int, default=100, help="on WebSockets at once (default: 100)")
    parser.add_argument("--seconds", type=float, default=5.0, help="each closed loop lasts (default: 5)")
    parser.add_argument("--repetitions", type=int, default=3, help="of the closed loop (default: 3)")
    options = parser.parse_args()
    surroundings = {
        "python": platform.python_version(),
        "load_average_before": os.getloadavg()[0],
        "memory_free_gb": round(psutil.virtual_memory().available / 2**30, 1),
        "postgresql": "fsync on, synchronous commit",
    }
    print(json.dumps(surroundings | measured(options), indent=2))


if __name__ == "__main__":
    main()
