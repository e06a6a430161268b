"""The same of the full stack, as `deploy/native` runs it, with nginx and uWSGI.

Three people talk through nginx and keep a ledger while each program is killed.
"""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.deploy.test_native import NEEDS_NGINX, Native
from tests.faults.conftest import HERE, Stack, make_study
from tests.faults.test_faults import compare_with_what_is_stored
from tests.project.conftest import copy_of

pytestmark = [
    pytest.mark.timeout(400),
    NEEDS_NGINX,
]
Note = Callable[[str, float], None]

AFAR = "eliza"
PARTS = {
    "uwsgi": "uWSGI, of the pages",
    "nginx": "nginx",
    "beat": "Timer",
    "worker": "Job worker",
    "redis-server": "Redis",
    "postgres": "PostgreSQL",
}
KEEPERS = {
    "turnwise.project.web_server": "What keeps the sockets' server running",
    "turnwise.bots.hosting.host_program": "What keeps the host of bots running",
}
KEPT = {
    "turnwise.project.web_server": "The sockets' server",
    "turnwise.bots.hosting.host_program": "Host of bots",
}


class FullStack(Stack):
    """`deploy/native`, whose host of bots has one bot that nobody else has."""

    def __init__(self, var: Path, *options: str, here: str = HERE) -> None:
        self.native = Native(var.parent, *options, BOTS_BESIDE_SOCKETS=here, BOTS_OF_THEIR_OWN=AFAR)
        self.native.wait_until_ready()
        self.link = self.native.link
        self.environment = self.native.child("turnwise.project.web_server").environ()
        self.code = self.shell(make_study(AFAR)).strip()
        self._nobody_talks_yet()

    def programs(self) -> list[subprocess.Popen[bytes]]:
        return [self.native.process]

    def said(self) -> str:
        return self.native.said()


@pytest.fixture(scope="module")
def stack(prepared_var: Callable[[Path], Path], new_folder: Callable[[], Path]) -> Iterator[FullStack]:
    stack = FullStack(prepared_var(new_folder()))
    stack.begin(AFAR)
    yield stack
    stack.end()


@pytest.mark.parametrize("name", PARTS)
def test_people_continue_after_a_program_is_killed(stack: FullStack, note: Note, name: str) -> None:
    child = stack.native.child(name)
    at = time.monotonic()
    child.kill()

    note(f"Full stack: {PARTS[name]} killed", stack.all_go_on(at))


@pytest.mark.parametrize(("name", "what"), KEEPERS.items())
def test_people_continue_after_a_supervisor_is_killed(
    stack: FullStack, note: Note, name: str, what: str
) -> None:
    stack.kill_keeper(stack.native.child(name), note, f"Full stack: {what}")


@pytest.mark.parametrize(("name", "what"), KEPT.items())
def test_people_continue_after_a_supervised_program_is_killed(
    stack: FullStack, note: Note, name: str, what: str
) -> None:
    copy = copy_of(stack.native.child(name))
    at = time.monotonic()
    copy.kill()

    note(f"Full stack: {what} killed", stack.all_go_on(at))


def test_people_continue_after_a_uwsgi_worker_is_killed(stack: FullStack, note: Note) -> None:
    """Its master starts another."""
    worker = stack.native.child("uwsgi").children()[0]
    at = time.monotonic()
    worker.kill()

    note("Full stack: a process of uWSGI killed", stack.all_go_on(at))


@pytest.mark.parametrize("name", ["uwsgi", "nginx"])
def test_a_killed_master_leaves_no_process_that_holds_its_address(stack: FullStack, name: str) -> None:
    """The old workers of nginx would serve on, with each new nginx ending at once."""
    master = stack.native.child(name)
    workers = master.children()
    assert workers
    master.kill()
    stack.all_go_on(time.monotonic())

    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive
    assert stack.native.child(name).is_running()


def test_all_programs_are_killed_at_once(stack: FullStack, note: Note) -> None:
    doomed = [stack.native.child(name) for name in (*PARTS, *KEEPERS)]
    doomed += [copy_of(stack.native.child(name)) for name in KEPT]
    at = time.monotonic()
    for each in doomed:
        each.kill()

    note("Full stack: all killed at once", stack.all_go_on(at))


def test_no_acknowledged_data_is_lost_or_doubled(stack: FullStack) -> None:
    stack.finish()

    compare_with_what_is_stored(stack)
