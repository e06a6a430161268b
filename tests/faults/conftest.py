"""One running server with chatters who talk all the while, shared by all faults."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pytest

from tests.faults.ledger import Chatter
from tests.project.conftest import ROOT, Serving, clean_environment, copy_of, new_folder, prepared_var
from turnwise.project.supervision.embedded import APPLICATION, OWNER

__all__ = ["new_folder", "prepared_var"]

PATIENCE = 90.0
DISK_BYTES = 400 * 1024**2
# Beside the first two, a bot that loads PyTorch, as on most installations: nobody may have to wait for it.
HERE = "quick,pondering,meena-base"
WEB = "web"  # what serves, below what keeps it running
MAKE_STUDY = """
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state
bots = {"quick": 0.0, "pondering": 0.1, AFAR: 0.1}
targets = {
    Bot.objects.filter(name=name).first()
    or register_bot(name=name, title=name.title(), adapter="scripted",
                    configuration={"replies": ["Go on.", "Why?"], "seconds": seconds}): 100
    for name, seconds in bots.items()
}
study = save_study(Study(title="Faults", languages=["en"], practice=False, min_turns=28, max_turns=500),
                   owner=User.objects.get(), consent_text="You talk to a machine.", targets=targets,
                   asks=[AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)])
print(set_state(study.pk, Study.State.OPEN).code)
"""


def make_study(afar: str) -> str:
    """A study with a bot that answers at once, a slow one, and one that another process has."""
    return MAKE_STUDY.replace("AFAR", repr(afar))


# Whoever enters before a host has taken up the new bots talks with one that was there before.
WAIT_FOR_BOTS = """
import time
from turnwise.bots.hosting import presence
names = {"quick", "pondering", AFAR}
until = time.monotonic() + PATIENCE
while set(presence.bot_states(names).values()) != {"ready"}:
    assert time.monotonic() < until, presence.bot_states(names)
    time.sleep(0.1)
"""
BOTS = """
import json
from turnwise.dialogues.models import Seat
seats = Seat.objects.filter(dialogue__study__title="Faults", bot__isnull=False)
print(json.dumps({str(id): name for id, name in seats.values_list("dialogue__public_id", "bot__name")}))
"""


class Stack:
    """`manage.py serve`, a supervised host of one bot, and who talks meanwhile."""

    def __init__(self, var: Path) -> None:
        self.var = var
        self.serving = self.started()
        self.link = self.serving.link
        self.environment = clean_environment() | {"TURNWISE_VAR": str(var), "OMP_NUM_THREADS": "1"}
        self.code = self.shell(make_study("afar")).strip()
        manage = [sys.executable, str(ROOT / "manage.py")]
        self.host_said = tempfile.NamedTemporaryFile("w+")  # noqa: SIM115
        self.host = subprocess.Popen(
            [*manage, "hostbots", "afar"], env=self.environment, stdout=self.host_said
        )
        while "afar: ready" not in Path(self.host_said.name).read_text():
            assert self.host.poll() is None
            time.sleep(0.05)
        self._nobody_talks_yet()

    def _nobody_talks_yet(self) -> None:
        self.chatters: list[Chatter] = []
        self.bot_of: dict[str, str] = {}
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.talks: list[Any] = []
        self._family: set[psutil.Process] = set()
        self.processor_seconds = 0.0

    def begin(self, afar: str) -> None:
        """Three people, one for each bot."""
        self.shell(WAIT_FOR_BOTS.replace("AFAR", repr(afar)).replace("PATIENCE", str(PATIENCE)))
        for number in range(3):
            self.send(f"Chatter {number}")
        self.note_bots()
        assert sorted(self.bot_of.values()) == sorted([afar, "pondering", "quick"])
        self.all_go_on(time.monotonic())

    def note_bots(self) -> None:
        """Look up who talks with which bot."""
        self.bot_of = json.loads(self.shell(BOTS))

    def said(self) -> str:
        return self.serving.said()

    def programs(self) -> list[subprocess.Popen[bytes]]:
        return [self.host, self.serving.process]

    def started(self, port: int = 0) -> Serving:
        return Serving(self.var, "--port", str(port), TURNWISE_BOTS=HERE, OMP_NUM_THREADS="1")

    def shell(self, program: str) -> str:
        command = [sys.executable, str(ROOT / "manage.py"), "shell", "--no-imports", "-c", program]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True)
        return done.stdout

    def send(self, name: str) -> Chatter:
        """Somebody new begins to talk."""
        chatter = Chatter(self.link, f"/s/{self.code}/", name)
        self.chatters.append(chatter)
        self.talks.append(asyncio.run_coroutine_threadsafe(chatter.talk(), self.loop))
        return chatter

    def child(self, name: str) -> psutil.Process:
        return self.serving.web() if name == WEB else self.serving.children()[name]

    def bot_host(self) -> psutil.Process:
        """The process that has the bot, below the one that starts it anew."""
        return copy_of(psutil.Process(self.host.pid))

    def kill_keeper(self, keeper: psutil.Process, note: Callable[[str, float], None], what: str) -> None:
        """Its copy works on until the next keeper has loaded, and ends only then."""
        left = copy_of(keeper)
        at = time.monotonic()
        keeper.kill()
        note(f"{what} killed", self.all_go_on(at))
        left.wait(PATIENCE)
        note(f"{what} killed, when the next one takes over", self.all_go_on(time.monotonic()))

    def all_go_on(self, since: float, *, but: str = "") -> float:
        """Seconds until a newcomer got a page, and the last chatter an answer to what they wrote since."""
        deadline = time.monotonic() + PATIENCE
        while not self.admits():
            assert time.monotonic() < deadline, f"No page is answered.\n{self.said()}"
            time.sleep(0.05)
        admitted = time.monotonic()
        chatters = [chatter for chatter in self.chatters if self.bot_of[chatter.dialogue] != but]
        while not all(moments := [chatter.went_on_after(since) for chatter in chatters]):
            late = [chatter for chatter, done in zip(chatters, moments, strict=True) if not done]
            stuck = [f"{each.name} with {self.bot_of[each.dialogue]}, after {each.last}" for each in late]
            assert time.monotonic() < deadline, f"{stuck} do not go on.\n{self.said()}"
            assert not any(talk.done() for talk in self.talks), [talk.exception() for talk in self.talks]
            time.sleep(0.02)
        seconds = max(admitted, *(done for done in moments if done)) - since
        self.processor_seconds = self._used_by_the_new()
        return seconds

    def _used_by_the_new(self) -> float:
        """Processor time of what was started since the last fault: others affect it less than waits."""
        total, before = 0.0, self._family
        roots = [psutil.Process(program.pid) for program in self.programs()]
        self._family = {*roots, *(child for root in roots for child in root.children(recursive=True))}
        for each in self._family - before:
            with suppress(psutil.Error):
                used = each.cpu_times()
                total += used.user + used.system
        return total

    def admits(self) -> bool:
        with suppress(OSError), urllib.request.urlopen(f"{self.link}s/{self.code}/", timeout=20) as answer:
            return bool(answer.status == 200)
        return False

    def status(self, path: str) -> int:
        try:
            with urllib.request.urlopen(self.link + path, timeout=20) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    def write_until_refused(self) -> bool:
        """Use up what room the files of PostgreSQL still have inside."""
        database = json.loads((self.var / "services.json").read_text())["DATABASE_URL"]
        database = database.replace(f"{APPLICATION}@", f"{OWNER}@")
        try:
            with psycopg2.connect(database) as connection, connection.cursor() as cursor:
                for number in range(100):
                    cursor.execute(
                        f"CREATE TABLE filler_{number} AS"
                        " SELECT repeat(md5(n::text), 50) FROM generate_series(1, 9999) AS n"
                    )
        except psycopg2.Error:
            return True
        return False

    def start_again(self) -> None:
        self.serving = self.started(int(self.link.rstrip("/").rpartition(":")[2]))

    def finish(self) -> None:
        """Everybody ends their conversation. A busy machine is slow, but nobody may be stuck."""
        for chatter in self.chatters:
            chatter.is_enough = True
        for chatter, talk in zip(self.chatters, self.talks, strict=True):
            said = -1
            while not talk.done() and len(chatter.exchanges) > said:
                said = len(chatter.exchanges)
                wait([talk], PATIENCE)
            talk.result(0)

    def end(self) -> None:
        for process in self.programs():
            if process.poll() is None:
                process.terminate()
                process.wait(60)
        for talk in self.talks:
            talk.cancel()
        self.loop.call_soon_threadsafe(self.loop.stop)


@pytest.fixture(scope="module")
def disk(new_folder: Callable[[], Path]) -> Iterator[Path]:
    """A small disk of its own where that may be mounted; elsewhere a folder, and no disk is filled."""
    folder = new_folder()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=711", "tmpfs", folder)
    is_small = os.geteuid() == 0 and not _runs(*mount)
    yield folder
    if is_small:
        _runs("umount", folder)


def _runs(*command: str | Path) -> int:
    return subprocess.run(command, capture_output=True, check=False).returncode


@pytest.fixture(scope="module")
def stack(disk: Path, prepared_var: Callable[[Path], Path]) -> Iterator[Stack]:
    stack = Stack(prepared_var(disk))
    stack.begin("afar")
    yield stack
    stack.end()


@pytest.fixture(scope="module")
def note(stack: Stack) -> Iterator[Callable[[str, float], None]]:
    """Keep how long a fault lasted, the processor time of what was started anew meanwhile, and the load.

    TURNWISE_FAULTS names a file for the table of docs/reliability.md.
    """
    found: dict[str, list[float]] = {}

    def keep(fault: str, seconds: float) -> None:
        found[fault] = [round(seconds, 1), round(stack.processor_seconds, 1), round(os.getloadavg()[0], 1)]

    yield keep
    if name := os.environ.get("TURNWISE_FAULTS"):
        file = Path(name)
        before = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(before | found, indent=1))
