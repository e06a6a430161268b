"""A rehearsal goes on where browsers do: the web process dies, and comes back."""

import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

import psutil
import pytest
from django.core.management import CommandError
from django.db import connection

from tests.conftest import (
    MakeContexts,
    MakeMeeting,
    MakeQueue,
    MakeRun,
    MakeStudy,
    MakeWriting,
)
from tests.project.conftest import copy_of
from tests.rehearsals.conftest import rehearsed
from turnwise.judging.items import subjects
from turnwise.labels.models import Label
from turnwise.project.supervision.child_programs import Program
from turnwise.rehearsals.findings import OUTSIDE
from turnwise.responses.models import Response
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]

Done = Callable[[], int]
DEATHS = 3


@pytest.fixture
def web() -> Iterator[tuple[str, psutil.Process]]:
    """The address of a web server that comes back when it dies, and what brings it back."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        fd = listener.fileno()
        arguments = [
            "-m",
            "turnwise.project.supervision.keeper",
            "web",
            "turnwise.project.web_server",
            "--fd",
            str(fd),
        ]
        keeper = Program("web", arguments, dict(os.environ), fd)
        keeper.start()
        try:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            assert keeper.process
            _wait_for(address, keeper)
            yield address, psutil.Process(keeper.process.pid)
        finally:
            keeper.stop()


def _wait_for(address: str, keeper: Program) -> None:
    while True:
        assert keeper.process
        assert keeper.process.poll() is None
        with suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(f"{address}healthz", timeout=5).close()
            return
        time.sleep(0.1)


@contextmanager
def dying(keeper: psutil.Process, done: Done, each: int) -> Iterator[list[int]]:
    """Kill the web process whenever so much more was done; what was done by then."""
    is_over = Event()
    deaths: list[int] = []

    def kill() -> None:
        try:
            while len(deaths) < DEATHS and not is_over.wait(0.02):
                if (so_far := done()) >= each * (len(deaths) + 1):
                    copy_of(keeper).kill()
                    deaths.append(so_far)
        finally:
            connection.close()

    thread = Thread(target=kill)
    thread.start()
    try:
        yield deaths
    finally:
        is_over.set()
        thread.join()


def labels_of(study: Study) -> Done:
    return Label.objects.filter(study__rehearsal_of=study).count


def lost_or_doubled(study: Study, web: tuple[str, psutil.Process], done: Done, each: int) -> list[str]:
    """Which counts a rehearsal finds wrong in which the web process died again and again.

    Of so few workers a planted score may lie outside by chance.
    """
    address, keeper, verdict = *web, ""
    with dying(keeper, done, each) as deaths:
        try:
            rehearsed(study, "--workers", "12", "--url", address)
        except CommandError as error:
            verdict = str(error)
    assert "stopped early" not in verdict
    assert len(deaths) == DEATHS, deaths
    found = study.rehearsal.outcome.findings
    return [each["words"] for each in found if each["holds"] is False and OUTSIDE not in each["words"]]


def test_two_people(make_meeting: MakeMeeting, web: tuple[str, psutil.Process]) -> None:
    asks = (
        AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
        AskSpec("likert", About.DIALOGUE, Moment.AT_END),
    )
    study = make_meeting(asks=asks, min_turns=10, max_turns=14)

    assert not lost_or_doubled(study, web, labels_of(study), 15)


def test_people_and_bots(make_study: MakeStudy, web: tuple[str, psutil.Process]) -> None:
    study = make_study({"scripty": 3, "another": 3}, min_turns=10, max_turns=14)

    assert not lost_or_doubled(study, web, labels_of(study), 15)


def test_readers(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, web: tuple[str, psutil.Process]
) -> None:
    study, contexts = make_queue(raters=3, batch=20), make_contexts(40)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))

    assert not lost_or_doubled(study, web, labels_of(study), 50)


def test_people_who_write(make_writing: MakeWriting, web: tuple[str, psutil.Process]) -> None:
    study = make_writing(20, responses=3, batch=10)

    def written() -> int:
        return Response.objects.filter(run__study__rehearsal_of=study).count()

    assert not lost_or_doubled(study, web, written, 12)
