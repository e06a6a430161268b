import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from turnwise.project.supervision.processes import record, stop_recorded


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def test_recorded_processes_of_a_killed_run_are_stopped(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    record([sleeper.pid], tmp_path / "processes.json")
    stop_recorded(tmp_path / "processes.json")
    assert sleeper.wait(120) == -15
    assert not (tmp_path / "processes.json").exists()


def test_a_stranger_with_a_recorded_number_is_left_alone(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    born = psutil.Process(sleeper.pid).create_time()
    (tmp_path / "processes.json").write_text(json.dumps({sleeper.pid: born - 100.0}))
    stop_recorded(tmp_path / "processes.json")
    assert sleeper.poll() is None


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux tells a child that its parent is gone"
)
def test_children_end_when_their_parent_is_killed(wait_until_gone: Callable[[psutil.Process], bool]) -> None:
    program = (
        "import sys, time; from turnwise.project.supervision.processes import spawn;"
        "print(spawn([sys.executable, '-c', 'import time; time.sleep(60)']).pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    parent.kill()
    parent.communicate()
    assert wait_until_gone(child)
