import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.away import away
from tests.operating.conftest import make_wizard
from turnwise.project.supervision.installation import code_fingerprint as fingerprint

__all__ = ["away", "make_wizard"]

ROOT = Path(__file__).parents[2]
CHILDREN = ("turnwise.project.web_server", "-q worker", "-q beat", "postgres", "redis-server")


class Serving:
    """A real `manage.py serve` in a process of its own."""

    def __init__(self, var: Path, *arguments: str, **environment: str) -> None:
        self.var = var
        self.output = tempfile.NamedTemporaryFile("w+", suffix=".txt")  # noqa: SIM115
        command = [sys.executable, str(ROOT / "manage.py"), "serve", "--var", str(var), *arguments]
        self.process = subprocess.Popen(
            command,
            env=clean_environment() | environment,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def said(self) -> str:
        return Path(self.output.name).read_text()

    def wait_until_said(self, pattern: str) -> re.Match[str]:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            found = re.search(pattern, self.said())
            if found:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} was not said, but:\n{self.said()}")

    @property
    def link(self) -> str:
        return self.wait_until_said(r"ready: (http\S+/)")[1]

    def children(self) -> dict[str, psutil.Process]:
        """All supervised processes, once they run, by the word that tells them apart."""
        deadline = time.monotonic() + 90
        found: dict[str, psutil.Process] = {}
        while len(found) < len(CHILDREN) and time.monotonic() < deadline:
            time.sleep(0.05)
            found = dict(self._children_by_name())
        assert len(found) == len(CHILDREN), f"only {sorted(found)} run, and it said:\n{self.said()}"
        return found

    def web(self) -> psutil.Process:
        """What serves: a copy of the process that keeps it running."""
        return copy_of(self.children()["turnwise.project.web_server"])

    def check_of_the_data(self) -> psutil.Process:
        """What a start on prepared data makes once people are served."""
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            for child in psutil.Process(self.process.pid).children():
                with contextlib.suppress(psutil.Error):
                    if "bootstrap" in child.cmdline():
                        return child
            time.sleep(0.02)
        raise AssertionError(f"The data are not checked:\n{self.said()}")

    def _children_by_name(self) -> Iterator[tuple[str, psutil.Process]]:
        # The newest of a kind last: what a killed keeper left behind works on while the next one loads.
        children = psutil.Process(self.process.pid).children()
        for child in sorted(children, key=psutil.Process.create_time):
            with contextlib.suppress(psutil.Error):
                line = " ".join(child.cmdline()).rpartition("/bin/")[2]
                yield from ((name, child) for name in CHILDREN if name in line)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


def clean_environment() -> dict[str, str]:
    ours = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "TURNWISE_VAR", "ALLOWED_HOSTS")
    return {name: value for name, value in os.environ.items() if name not in ours}


def copy_of(keeper: psutil.Process) -> psutil.Process:
    """What works below `turnwise.project.supervision.keeper`, once it does."""
    deadline = time.monotonic() + 90
    while not (copies := keeper.children()):
        assert keeper.is_running()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return copies[0]


def gone(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture(scope="session")
def manage() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run manage.py to its end, in the environment of a shell that knows nothing of these tests."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=clean_environment() | environment,
            capture_output=True,
            text=True,
            timeout=180,
        )

    return run


@pytest.fixture(scope="session")
def wait_until_gone() -> Callable[[psutil.Process], bool]:
    def wait(process: psutil.Process) -> bool:
        deadline = time.monotonic() + 90
        while not gone(process) and time.monotonic() < deadline:
            time.sleep(0.05)
        return gone(process)

    return wait


@pytest.fixture(scope="session")
def new_folder() -> Iterator[Callable[[], Path]]:
    """Make short folders that PostgreSQL's own user may pass: root's pytest folders are closed to it."""
    made: list[Path] = []

    def make() -> Path:
        made.append(Path(tempfile.mkdtemp(prefix="tw-")))
        made[-1].chmod(0o711)
        return made[-1]

    yield make
    for each in made:
        shutil.rmtree(each, ignore_errors=True)


@pytest.fixture(scope="session")
def prepared_var(request: pytest.FixtureRequest, new_folder: Callable[[], Path]) -> Callable[[Path], Path]:
    """Make, in a folder, a data folder on which `serve` has run before: most of a start is preparing one.

    It is the copy of one that is kept between runs, as the migrated test database is.
    """
    cache = request.config.cache
    assert cache
    kept = cache.mkdir("prepared") / fingerprint()[:16]

    def make(folder: Path) -> Path:
        with (kept.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # other processes of the tests want it, too
            if not kept.exists():
                _prepare(new_folder() / "var", kept)
        subprocess.run(["cp", "-a", kept, folder / "var"], check=True)
        return folder / "var"

    return make


def _prepare(var: Path, kept: Path) -> None:
    serving = Serving(var, "--port", "0", TURNWISE_BOTS="none")
    serving.wait_until_said("Turnwise is ready")
    serving.children()  # all of them have begun
    assert serving.end(signal.SIGTERM) == 0
    for other in kept.parent.iterdir():
        if other.is_dir():  # of other code
            shutil.rmtree(other, ignore_errors=True)
    fresh = kept.with_name(f"{kept.name}.new")
    subprocess.run(["cp", "-a", var, fresh], check=True)
    fresh.rename(kept)


@pytest.fixture
def folder(new_folder: Callable[[], Path]) -> Path:
    return new_folder()


@pytest.fixture(scope="module")
def serve() -> Iterator[Callable[..., Serving]]:
    """Start `manage.py serve`; whatever still runs at the end of the module is stopped."""
    started: list[Serving] = []

    def start(var: Path, *arguments: str, **environment: str) -> Serving:
        started.append(Serving(var, *arguments, **environment))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.end(signal.SIGTERM)
