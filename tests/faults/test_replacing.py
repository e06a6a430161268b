"""`deploy/native --replace` in the middle of replies that grow: no turn is lost, and no page sees an error.

TURNWISE_REPLACED says how many conversations are held at the same time.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typing_extensions import override
from websockets.exceptions import ConnectionClosed

from tests.deploy.test_native import NEEDS_NGINX, ROOT, children_of
from tests.faults import conftest, test_native_faults
from tests.faults.test_growing_replies import MAKE_STUDY, Watcher, compare_all, wait_until_replies_grow
from tests.faults.test_native_faults import AFAR, FullStack
from turnwise.live.sockets.draining import MOVED
from turnwise.rehearsals.simulated_worker import LOST, socket_of

pytestmark = [pytest.mark.timeout(1200), NEEDS_NGINX]
CONVERSATIONS = int(os.environ.get("TURNWISE_REPLACED", "20"))
SERVERS = ("turnwise.project.web_server", "turnwise.bots.hosting.host_program", "uwsgi")
JOBS = ("jobs-", "housekeeping-", "beat")
# The bot of the separate host writes as slowly as the others.
SLOW_AFAR = """
from turnwise.bots.models import Bot
told = Bot.objects.get(name="pondering")
Bot.objects.filter(name=AFAR).update(adapter=told.adapter, configuration=told.configuration)
"""


class Moved(Watcher):
    """A watcher to whom every lost connection is an error, unless the server says that it is replaced."""

    moves = 0

    @override
    async def talk(self) -> None:
        while not self.ledger.ended:
            try:
                async with socket_of(self.browser, self.settings) as socket:
                    await self._talk_over(socket)
            except ConnectionClosed as closed:
                self._note_end(closed.rcvd.code if closed.rcvd else 1006)
            except LOST as error:
                self._complain(f"met {error!r}")

    def _note_end(self, code: int) -> None:
        self.moves += 1
        if code != MOVED:
            self._complain(f"lost the connection with code {code}")
        if self.growing:
            self._complain(f"was moved in the middle of {self.growing!r}")


class Pages:
    """Somebody who loads a page all the while, and notes what is not answered with 200."""

    def __init__(self, stack: FullStack) -> None:
        self.statuses: dict[object, int] = {}
        self._stack, self._ending = stack, threading.Event()
        self._thread = threading.Thread(target=self._load, daemon=True)
        self._thread.start()

    def _load(self) -> None:
        while not self._ending.wait(0.2):
            try:
                status: object = self._stack.status(f"s/{self._stack.code}/")
            except OSError as error:
                status = repr(error)
            self.statuses[status] = self.statuses.get(status, 0) + 1

    def end(self) -> dict[object, int]:
        self._ending.set()
        self._thread.join()
        return self.statuses


@pytest.fixture(scope="module")
def stack(new_folder: Callable[[], Path], prepared_var: Callable[[Path], Path]) -> Iterator[FullStack]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_native_faults, "make_study", make_study)
        patch.setattr(conftest, "Chatter", Moved)
        stack = FullStack(prepared_var(new_folder()), "--scale", "sockets=2", here="quick,pondering")
        stack.begin(AFAR)
        for number in range(3, CONVERSATIONS):
            stack.send(f"Chatter {number}")
        stack.note_bots()
        yield stack
        stack.end()


def make_study(afar: str) -> str:
    return (MAKE_STUDY + SLOW_AFAR).replace("AFAR", repr(afar))


def replaced(stack: FullStack) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "deploy" / "native"), "--replace", "--var", str(stack.native.var)]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


def test_programs_are_replaced_in_the_middle_of_replies_and_no_page_sees_an_error(stack: FullStack) -> None:
    before = {name: {each.pid for each in children_of(stack.native, name)} for name in SERVERS + JOBS}
    pages = Pages(stack)
    wait_until_replies_grow(stack)

    done = replaced(stack)
    stack.all_go_on(time.monotonic())

    assert done.returncode == 0, done.stderr + stack.said()
    assert done.stdout.startswith("All programs were replaced in ")
    statuses = pages.end()
    assert set(statuses) == {200}, statuses
    assert [each for chatter in stack.chatters for each in chatter.broken] == []
    assert all(chatter.moves == 1 for chatter in stack.chatters if isinstance(chatter, Moved))
    for name, old in before.items():
        new = {each.pid for each in children_of(stack.native, name)}
        assert len(new) == len(old), name
        assert not new & old, name


def test_nothing_is_replaced_where_nothing_runs(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "deploy" / "native"), "--replace", "--var", str(tmp_path)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "so there is nothing to replace" in done.stderr


def test_no_turn_is_lost_doubled_or_judged_by_half(stack: FullStack) -> None:
    stack.finish()

    compare_all(stack)
