"""Start PostgreSQL and Redis for the tests, before pytest-django reads the settings.

A plugin of its own, named by `-p` in pyproject.toml: conftest.py would come too late.
"""

import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import evaluation  # noqa: F401  # it decides how many threads NumPy has, which other plugins may import
from turnwise.project.supervision.embedded import PostgreSQL, Redis

# Nothing that is imported to collect tests is garbage; conftest.py lets collection begin with the first test.
gc.disable()

# Processes run the tests on every core: threads of PyTorch, which wait for each other by turning, would take
# ten times as long as one alone.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tests start hundreds of processes. Each would compile all modules again, a third of its start, if the
# environment forbids Python to store what it compiled.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_stops: list[Callable[[], None]] = []


# What this process started for itself: a worker of pytest-xdist inherits the names, and needs its own.
STARTED = "TURNWISE_TESTS_STARTED"


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, None, None]:
    for name in os.environ.pop(STARTED, "").split():
        del os.environ[name]
    os.environ.setdefault("SECRET_KEY", "only for tests")
    os.environ.setdefault("TURNWISE_MODEL_FOLDERS", "/")  # tests make their models where pytest has folders
    memory = Path("/dev/shm")  # emptying tables between tests is mostly waiting for the disk
    in_memory = str(memory) if os.access(memory, os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="turnwise-", dir=in_memory))
    folder.chmod(0o711)  # PostgreSQL runs as another user where root runs the tests
    _stops.append(lambda: shutil.rmtree(folder, ignore_errors=True))
    # Never the services or the key of a server that runs beside the tests.
    started = []
    if "TURNWISE_VAR" not in os.environ:
        os.environ["TURNWISE_VAR"] = str(folder / "var")
        started.append("TURNWISE_VAR")
    (folder / "var" / "static").mkdir(parents=True)
    for service, address in (
        (PostgreSQL(folder / "postgresql", durable=False), "DATABASE_URL"),
        (Redis(folder / "redis"), "REDIS_URL"),
    ):
        if not os.environ.get(address):
            service.start()
            _stops.append(service.stop)
            # As the owner: tests create databases, and empty tables that refuse it.
            os.environ[address] = service.owner_url if isinstance(service, PostgreSQL) else service.url
            started.append(address)
    os.environ[STARTED] = " ".join(started)
    return (yield)


def pytest_unconfigure() -> None:
    while _stops:
        _stops.pop()()
