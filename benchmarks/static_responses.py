"""Let bots answer all contexts of the open benchmark, while the job worker is killed and restarted.

    PYTHONPATH=.:platform python benchmarks/static_responses.py [--bots generic eliza scripted]

Starts its own PostgreSQL, Redis and Celery worker in a temporary folder. Halfway through each run the
worker is killed with SIGKILL and another one started. Prints JSON, by bot: responses, contexts without
one, contexts with two, errors, and the seconds of the whole run and of a context.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BOTS = ("generic", "eliza", "scripted")


class Worker:
    """A Celery worker as `manage.py serve` runs it."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "celery", "-A", "turnwise.project", "worker", "--pool", "solo"]
        with self.log.open("a") as output:
            return subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)

    def kill_and_replace(self) -> None:
        self.kill()
        self.process = self._start()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def version_with(contexts: int | None) -> Any:
    """The open benchmark, or a set of its first contexts."""
    from turnwise.contexts.files import jsonl_lines, parse
    from turnwise.contexts.models import ContextSet
    from turnwise.contexts.services import import_version, load_open_mtb

    version = load_open_mtb()
    if contexts is None:
        return version
    rows = parse("".join(jsonl_lines(version.contexts.all()[:contexts])), "jsonl", language="en").rows
    return import_version(ContextSet.objects.create(name="first", title="First"), rows, origin="")


def run_of(bot_name: str, version: Any, repetitions: int, worker: Worker) -> dict[str, Any]:
    from turnwise.accounts.models import User
    from turnwise.bots.services import register_bot
    from turnwise.responses import tasks
    from turnwise.responses.bot_jobs import AT_WORK
    from turnwise.responses.models import ResponseRun
    from turnwise.responses.services import start_run

    owner, _ = User.objects.get_or_create(username="researcher")
    bot = register_bot(name=bot_name, title=bot_name, adapter=bot_name)
    began = time.monotonic()
    run = start_run(version, bot, owner=owner, seed=1, repetitions=repetitions)
    wanted = version.size * repetitions

    def wait_for(is_so: Callable[[], bool]) -> None:
        while not is_so():
            tasks.take_up_runs()  # what the timer does
            time.sleep(0.5)

    wait_for(lambda: run.responses.count() >= wanted // 2 or _state(run) not in AT_WORK)
    at_the_kill = run.responses.count()
    worker.kill_and_replace()
    wait_for(lambda: _state(run) not in AT_WORK)
    seconds = time.monotonic() - began
    places = Counter(run.responses.values_list("context__key", "repetition"))
    return {
        "state": _state(run),
        "reason": ResponseRun.objects.get(pk=run.pk).reason,
        "responses": run.responses.count(),
        "at_the_kill": at_the_kill,
        "lacking": wanted - len(places),
        "doubled": sum(n > 1 for n in places.values()),
        "errors": run.faults.count(),
        "seconds": round(seconds, 1),
        "ms_per_response": round(1000 * seconds / wanted, 1),
    }


def _state(run: Any) -> str:
    return str(type(run).objects.values_list("state", flat=True).get(pk=run.pk))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bots", nargs="+", default=BOTS, help=f"default: {' '.join(BOTS)}")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--contexts", type=int, help="only the first so many; default: all")
    arguments = parser.parse_args()
    from turnwise.project.supervision.embedded import PostgreSQL, Redis

    folder = Path(tempfile.mkdtemp(prefix="tw-"))
    folder.chmod(0o711)  # PostgreSQL runs as another user where root runs this
    services = PostgreSQL(folder / "postgresql"), Redis(folder / "redis")
    worker = None
    try:
        for service in services:
            service.start()
        names = {"DATABASE_URL": services[0].owner_url, "REDIS_URL": services[1].url}
        os.environ |= names | {
            "SECRET_KEY": "only here",
            "DJANGO_SETTINGS_MODULE": "turnwise.project.settings",
        }
        subprocess.run([sys.executable, str(ROOT / "manage.py"), "migrate", "-v", "0"], check=True)
        import django

        django.setup()
        worker = Worker(folder / "worker.log")
        version = version_with(arguments.contexts)
        results = {name: run_of(name, version, arguments.repetitions, worker) for name in arguments.bots}
        print(json.dumps(results, indent=2))
    finally:
        if worker:
            worker.kill()
        for service in services:
            service.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
