"""Jobs wait in queues by kind: quick housekeeping never waits behind a long job, and a job has limits."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest
from celery import shared_task
from django.conf import settings
from django.db import connections
from django.utils import timezone
from pytest_django.fixtures import Settings

from tests.conftest import MakeStudy, enter
from tests.planted import talked
from turnwise.crowd.models import Assignment
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.running import limits
from turnwise.crowd.tasks import end_overdue
from turnwise.live.jobs import describe_failure
from turnwise.project import celery
from turnwise.project.supervision import supervisor
from turnwise.project.timer import app as timer
from turnwise.reports import services, tasks
from turnwise.reports.models import Report


def test_every_job_has_a_declared_queue() -> None:
    celery.app.loader.import_default_modules()
    jobs = {name: job for name, job in celery.app.tasks.items() if name.startswith("turnwise.")}
    by_timer = {each["task"]: each["options"]["queue"] for each in timer.conf.beat_schedule.values()}
    by_code = {task: route["queue"] for task, route in settings.CELERY_TASK_ROUTES.items()}

    assert by_timer.keys() | by_code.keys() <= jobs.keys()
    assert {*by_timer.values(), *by_code.values(), "computing"} == set(settings.JOB_QUEUES)
    # What is named nowhere computes for long.
    assert jobs.keys() - by_timer.keys() - by_code.keys() == {
        "turnwise.judging.tasks.work_out_agreement",
        "turnwise.reports.tasks.build_report",
    }


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[None]:
    """Both job workers of `turnwise serve`, on the test database."""
    database = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{settings.DATABASES['default']['NAME']}")
    environment = os.environ | {"DATABASE_URL": urlunsplit(database), "TURNWISE_BOTS": "none"}
    started = []
    for number, queues in enumerate((supervisor.HOUSEKEEPING, supervisor.OTHER_JOBS)):
        command = [sys.executable, *supervisor.WORKER.split(), *queues.split()]
        with (tmp_path / f"worker{number}").open("w") as log:
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
    yield
    for worker in started:
        worker.kill()
        worker.wait(120)


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("workers")
def test_housekeeping_goes_on_while_a_report_is_computed(make_study: MakeStudy) -> None:
    study = make_study({"only": 3}, min_turns=2, max_turns=8, message_minutes=1)
    talked(study, [(True, True)])
    study.refresh_from_db()
    place = assign(enter(study).pk, now=timezone.now())
    limits.update_clocks(place.pk, waits=True, anew=True, now=timezone.now() - timedelta(minutes=2))
    report = services.queue_report(study)

    def state(report: Report) -> str:
        report.refresh_from_db()
        return report.state

    other = connections.create_connection("default")
    with closing(other), other.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE reports_chart IN ACCESS EXCLUSIVE MODE")  # the report waits for it
        tasks.build_report.delay(report.pk)
        wait_until(lambda: state(report) == Report.State.RUNNING, "the report begins")
        end_overdue.apply_async(queue="housekeeping")
        wait_until(
            lambda: Assignment.objects.get(pk=place.pk).ended_at is not None, "the overdue session has ended"
        )
        assert state(report) == Report.State.RUNNING
        cursor.execute("COMMIT")


@shared_task
def turn_in_circles() -> None:
    while True:
        time.sleep(0.01)


def test_a_job_that_takes_too_long_ends_with_the_limit_in_words(settings: Settings) -> None:
    settings.JOB_SECONDS = 0.3
    before = signal.signal(signal.SIGALRM, celery.end_job)
    try:
        ended = turn_in_circles.apply()
    finally:
        signal.signal(signal.SIGALRM, before)

    assert ended.result
    assert (
        describe_failure(ended.result)
        == "It took more than 0.005 minutes, the limit of TURNWISE_JOB_MINUTES."
    )


def test_a_job_that_needs_too_much_memory_fails_and_its_worker_lives_on() -> None:
    program = """
import django; django.setup()
from django.conf import settings
from turnwise.live.jobs import describe_failure
from turnwise.project import celery
settings.JOB_MEMORY_BYTES = 10**9
celery.bound_memory()
try:
    bytearray(2 * 10**9)
except MemoryError:
    print("too much", len(bytearray(10**6)))
"""
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "turnwise.project.settings"}
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False
    )

    assert ran.stdout == "too much 1000000\n", ran.stderr
