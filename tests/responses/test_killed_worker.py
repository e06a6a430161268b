"""The process that works on a run is killed halfway, and another goes on; or it is ended in order."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from django.conf import settings

from tests.conftest import MakeVersion
from tests.responses.conftest import MakeRun
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.responses import tasks
from turnwise.responses.models import ResponseRun
from turnwise.responses.services import start_run
from turnwise.responses.tasks import seed_of

pytestmark = pytest.mark.django_db(transaction=True)

CONTEXTS, REPETITIONS = 200, 2
Worker = subprocess.Popen[bytes]


@pytest.fixture
def start_worker(tmp_path: Path) -> Iterator[Callable[[], Worker]]:
    """Start real Celery workers on the test database; whatever still runs at the end is killed."""
    started: list[Worker] = []
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{settings.DATABASES['default']['NAME']}")
    environment = os.environ | {"DATABASE_URL": urlunsplit(database)}

    def start() -> Worker:
        command = [
            sys.executable,
            "-m",
            "celery",
            "-A",
            "turnwise.project",
            "worker",
            "--pool",
            "solo",
            "--loglevel",
            "INFO",
        ]
        log = (tmp_path / f"worker{len(started)}").open("w")
        started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return started[-1]

    yield start
    for worker in started:
        worker.kill()
        worker.wait(120)


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.02)


def test_a_run_whose_worker_is_killed_loses_and_doubles_nothing(
    make_run: MakeRun, start_worker: Callable[[], Worker]
) -> None:
    run = make_run(CONTEXTS, repetitions=REPETITIONS, seed=7, seconds=0.01)
    first = start_worker()
    tasks.send(run.pk)
    wait_until(lambda: run.responses.count() >= CONTEXTS * REPETITIONS // 2 - 50)

    first.kill()
    first.wait(120)
    kept = dict(run.responses.values_list("pk", "created_at"))
    assert 0 < len(kept) < CONTEXTS * REPETITIONS
    start_worker()
    tasks.take_up_runs()  # the timer does this every few seconds
    wait_until(lambda: ResponseRun.objects.get(pk=run.pk).state == ResponseRun.State.DONE)

    places = list(run.responses.values_list("context__key", "repetition"))
    wanted = {(f"c{n}", repetition) for n in range(1, CONTEXTS + 1) for repetition in (1, 2)}
    assert len(places) == CONTEXTS * REPETITIONS
    assert set(places) == wanted
    assert dict(run.responses.filter(pk__in=kept).values_list("pk", "created_at")) == kept
    seeds = {
        (key, n): seed for key, n, seed in run.responses.values_list("context__key", "repetition", "seed")
    }
    assert seeds == {(key, n): seed_of(7, key, n) for key, n in wanted}
    assert not run.faults.exists()


def test_a_worker_that_has_loaded_a_bot_ends_in_order_and_says_nothing(
    make_version: MakeVersion, rex: User, start_worker: Callable[[], Worker], tmp_path: Path
) -> None:
    """A thread of a library that is still at work then had C++ end the process: "terminate called …"."""
    bot = Bot.objects.create(name="meena", title="Meena", adapter="meena-base", configuration={})
    run = start_run(make_version(1), bot, owner=rex, seed=7, repetitions=1)
    worker = start_worker()
    tasks.send(run.pk)
    wait_until(lambda: ResponseRun.objects.get(pk=run.pk).state == ResponseRun.State.DONE, 120)

    worker.terminate()

    assert worker.wait(60) == 0
    said = (tmp_path / "worker0").read_text()
    assert "Warm shutdown" in said
    assert "terminate called" not in said
    assert "Traceback" not in said
