"""Processor seconds of each test file, with those of all processes that its tests start (Linux, as root).

    TURNWISE_COSTS=costs.tsv python -m pytest -p tests.costs tests/exports

Elapsed seconds say little on a busy machine, and `time` misses Chromium's pages, whose processes nobody waits
for. Each process of tests and all that it starts are in a control group of their own, which counts.
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path("/sys/fs/cgroup/cpuacct")
GROUP = ROOT / f"turnwise-tests-{os.getpid()}"
START = "(start and collection)"


def _remove_left_groups() -> None:
    """Remove groups of earlier runs; those in which something still runs refuse it."""
    for group in ROOT.glob("turnwise-tests-*"):
        with suppress(OSError):
            group.rmdir()


_remove_left_groups()
GROUP.mkdir(exist_ok=True)
(GROUP / "cgroup.procs").write_text(str(os.getpid()))  # at once: services start before pytest's first hook

_seconds: dict[str, float] = {}
_tests: Counter[str] = Counter()
_noted = 0.0


def _note(what: str) -> None:
    """Count what was used since the last call."""
    global _noted
    used = int((GROUP / "cpuacct.usage").read_text()) / 1e9
    _seconds[what] = _seconds.get(what, 0.0) + used - _noted
    _noted = used


def pytest_collection_finish() -> None:
    _note(START)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    yield
    name = item.path.relative_to(item.config.rootpath).as_posix()
    _note(name)
    _tests[name] += 1


def pytest_sessionfinish() -> None:
    with Path(os.environ.get("TURNWISE_COSTS", "costs.tsv")).open("a") as file:
        for name, seconds in sorted(_seconds.items(), key=lambda each: -each[1]):
            file.write(f"{seconds:.1f}\t{_tests[name]}\t{name}\n")


def pytest_unconfigure() -> None:
    """Leave the group; the next run removes it, once all that was started in it has ended."""
    (ROOT / "cgroup.procs").write_text(str(os.getpid()))
