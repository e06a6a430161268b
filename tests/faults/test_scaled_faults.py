"""The same with several of each: `deploy/native --scale`, where any server takes anybody at any moment.

Six people talk through nginx, each with a ledger, while one of each program is killed for good or is away.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.deploy.test_native import NEEDS_NGINX, children_of
from tests.faults.test_faults import compare_with_what_is_stored
from tests.faults.test_native_faults import AFAR, FullStack
from tests.project.conftest import copy_of

pytestmark = [pytest.mark.timeout(1200), NEEDS_NGINX]
SOCKETS, HOSTS = "turnwise.project.web_server", "turnwise.bots.hosting.host_program"
SCALE = {SOCKETS: 2, "uwsgi": 2, HOSTS: 2, "jobs-": 3}
Note = Callable[[str, float], None]


@pytest.fixture(scope="module")
def stack(prepared_var: Callable[[Path], Path], new_folder: Callable[[], Path]) -> Iterator[FullStack]:
    stack = FullStack(prepared_var(new_folder()), "--scale", here="quick,pondering")
    stack.begin(AFAR)
    for number in range(3, 6):
        stack.send(f"Chatter {number}")
    stack.note_bots()
    yield stack
    stack.end()


def connections(server: psutil.Process) -> int:
    """Number of connections that a sockets' server holds from nginx."""
    copy = copy_of(server)
    port = int(server.cmdline()[server.cmdline().index("--port") + 1])
    mine = copy.net_connections("tcp4")
    return sum(each.laddr.port == port and each.status == psutil.CONN_ESTABLISHED for each in mine)


def test_there_are_several_of_each(stack: FullStack) -> None:
    found = {name: len(children_of(stack.native, name)) for name in SCALE}

    assert found == SCALE
    names = [part for each in children_of(stack.native, "jobs-") for part in each.cmdline() if "%h" in part]
    assert len(set(names)) == 3


def test_people_are_spread_over_the_servers(stack: FullStack) -> None:
    spread = Counter({each.pid: connections(each) for each in children_of(stack.native, SOCKETS)})

    assert min(spread.values()) >= 2, spread


@pytest.mark.parametrize("name", ["uwsgi", "jobs-"])
def test_people_continue_after_one_of_several_is_killed(stack: FullStack, note: Note, name: str) -> None:
    at = time.monotonic()
    children_of(stack.native, name)[0].kill()

    note(f"Scaled: one of {name} killed", stack.all_go_on(at))


@pytest.mark.parametrize("name", [SOCKETS, HOSTS])
def test_people_continue_after_one_of_several_copies_is_killed(
    stack: FullStack, note: Note, name: str
) -> None:
    at = time.monotonic()
    copy_of(children_of(stack.native, name)[0]).kill()

    note(f"Scaled: one of {name} killed", stack.all_go_on(at))


def test_people_go_on_at_another_server_while_theirs_is_away(stack: FullStack, note: Note) -> None:
    """Its keeper is stopped first, so that nobody starts it anew meanwhile."""
    keeper = children_of(stack.native, SOCKETS)[0]
    copy = copy_of(keeper)
    keeper.suspend()
    at = time.monotonic()
    copy.kill()
    try:
        note("Scaled: one sockets' server gone", stack.all_go_on(at))
    finally:
        keeper.resume()
    stack.all_go_on(time.monotonic())


def test_one_of_each_is_killed_at_once(stack: FullStack, note: Note) -> None:
    doomed = [children_of(stack.native, name)[-1] for name in ("uwsgi", "jobs-")]
    doomed += [copy_of(children_of(stack.native, name)[-1]) for name in (SOCKETS, HOSTS)]
    at = time.monotonic()
    for each in doomed:
        each.kill()

    note("Scaled: one of each killed at once", stack.all_go_on(at))


def test_no_acknowledged_data_is_lost_or_doubled(stack: FullStack) -> None:
    stack.finish()

    compare_with_what_is_stored(stack)
