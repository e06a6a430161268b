"""Run Turnwise on one machine: the services, the web server, the jobs; `manage.py serve` becomes this.

It uses neither Django nor any app, so it starts at once, stays small, needs no database, and can set what
the children's settings read.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from turnwise.live.locations import data_folder
from turnwise.project.supervision import child_programs, installation
from turnwise.project.supervision.child_programs import Program, Service, Watch
from turnwise.project.supervision.embedded import PostgreSQL, Redis
from turnwise.project.supervision.installation import check_database, check_redis
from turnwise.project.supervision.processes import StartError, record, spawn, stop, stop_recorded

GLANCE_SECONDS = 0.1

ending = threading.Event()  # set by Ctrl-C and its like

# Jobs travel as JSON, so what Celery says about root and pickle does not apply.
QUIET = ["-W", "ignore:You're running the worker with superuser"]
WORKER = (
    "-m celery -A turnwise.project -q worker --pool solo --loglevel WARNING --without-gossip --without-mingle"
)
# Quick housekeeping never waits behind a report; of the others, the first named go first.
HOUSEKEEPING = "--hostname housekeeping@%h --queues housekeeping"
OTHER_JOBS = "--hostname jobs@%h --queues requests,computing,bots"
TIMER = "-m celery -A turnwise.project.timer -q beat --loglevel WARNING --pidfile="


class Supervisor:
    def __init__(self, var: Path, host: str, listener: socket.socket) -> None:
        self.var = var
        self.host = host
        self.listener = listener
        self.port: int = listener.getsockname()[1]
        self.environment = _children_environment(var, host)
        self.watches: list[Watch] = []
        self.web: Program | None = None
        self.jobs: list[Service] = []
        self.data: Path | None = None  # of the embedded database
        self.owner: dict[str, str] = {}  # its address for what changes tables
        self.preparation: subprocess.Popen[bytes] | None = None
        self.may_check_later = False
        self.checks_left = 3
        self.admin: tuple[str, str] | None = None
        self.worker_path = ""
        self.announced = False

    @property
    def link(self) -> str:
        return _link(self.host, self.port)

    def run(self) -> None:
        """Start everything and keep it running until a signal ends it; then end everything in order."""
        try:
            installation.ensure_secret_key(self.var)
            services = self._settled_services()
            # A web server that may serve these data as they are loads while the services start.
            steps: list[Callable[[], None]] = [partial(self._start, service) for service in services]
            steps = (
                [self._start_web, *steps] if self._is_prepared() else [*steps, self._prepare, self._start_web]
            )
            for step in steps:
                if not ending.is_set():
                    step()
            while not ending.is_set():
                self._look_after()
                time.sleep(GLANCE_SECONDS)
        finally:
            self._stop_all()

    def _settled_services(self) -> list[PostgreSQL | Redis]:
        """Embedded services to run; publishes their addresses to all children."""
        embedded: dict[str, str] = {}
        services: list[PostgreSQL | Redis] = []
        for address, check, service in (
            ("DATABASE_URL", check_database, PostgreSQL(self.var / "postgresql")),
            ("REDIS_URL", check_redis, Redis(self.var / "redis")),
        ):
            if self.environment.get(address):
                check(self.environment[address])
                continue
            service.settle()
            services.append(service)
            embedded[address] = service.url
            if isinstance(service, PostgreSQL):
                self.data = service.folder
                self.owner = {address: service.owner_url}
        self.environment |= embedded
        # Read by the settings, so that `manage.py shell` beside a running server finds them.
        installation.write_private(self.var / "services.json", json.dumps(embedded))
        return services

    def _start(self, service: Service) -> None:
        self.watches.append(Watch(service, say))  # first, so that one that half started is stopped too
        service.start()
        self._record()

    def _record(self) -> None:
        # PostgreSQL and Redis keep pid files of their own.
        programs = [watch.service for watch in self.watches if isinstance(watch.service, Program)]
        record([program.process.pid for program in programs if program.process], self.var / "processes.json")

    def _children(self) -> set[int]:
        processes = [self.preparation, *(watch.service.process for watch in self.watches)]
        return {process.pid for process in processes if process}

    def _is_prepared(self) -> bool:
        """True if this code has prepared the data before, so that they can be checked later."""
        # Of a database elsewhere nobody knows what was done to it meanwhile.
        known = installation.last_preparation(self.data) if self.data else None
        if known:
            self.worker_path, self.may_check_later = known.worker_path, True
        return known is not None

    def _prepare(self) -> None:
        """Bring the database and the static files up to date."""
        self._begin_to_prepare()
        while self.preparation and not ending.is_set():
            self._heed_preparation()
            time.sleep(GLANCE_SECONDS)

    def _begin_to_prepare(self) -> None:
        """Start the preparation in a subprocess, which frees its memory at the end."""
        command = [sys.executable, "-m", "turnwise", "manage", "bootstrap", "--json"]
        environment = self.environment | self.owner
        self.preparation = spawn(command, output=subprocess.PIPE, environment=environment)

    def _heed_preparation(self) -> None:
        process = self.preparation
        if process is None or process.poll() is None:
            return
        self.preparation = None
        if process.returncode:
            if self.announced and process.returncode != installation.ANOTHER_VERSION and self.checks_left:
                say("The data could not be checked. That is tried again.")  # people are at work meanwhile
                self.checks_left, self.may_check_later = self.checks_left - 1, True
                return
            if self.data:
                installation.forget_preparation(self.data)
            raise StartError("The database could not be prepared; the reason is above.")
        assert process.stdout is not None
        news = json.loads(process.stdout.read().splitlines()[-1])
        self.admin = tuple(news["admin"]) if news["admin"] else None
        self.worker_path = news["worker_path"]
        if self.data:
            installation.save_preparation(self.data, self.worker_path)

    def _start_web(self) -> None:
        fd = self.listener.fileno()
        running = [
            "-m",
            "turnwise.project.supervision.keeper",
            "The web server",
            "turnwise.project.web_server",
            "--fd",
            str(fd),
        ]
        environment = child_programs.with_mark(self.environment)
        self.web = Program("What keeps the web server running", running, environment, fd)
        self._start(self.web)

    def _start_jobs(self) -> None:
        (self.var / "timer").mkdir(exist_ok=True)
        timer = [*TIMER.split(), "--schedule", str(self.var / "timer" / "schedule")]
        # Jobs ask the bots that the web server keeps loaded.
        no_bots = self.environment | {"TURNWISE_BOTS": "none"}
        self.jobs = [
            Program("The worker for housekeeping", [*QUIET, *WORKER.split(), *HOUSEKEEPING.split()], no_bots),
            Program("The worker for jobs", [*QUIET, *WORKER.split(), *OTHER_JOBS.split()], no_bots),
            Program("The timer for jobs", timer, self.environment),
        ]
        for each in self.jobs:
            self._start(each)

    def _look_after(self) -> None:
        now = time.monotonic()
        # Where all died at once, jobs that start at the same time would keep those waiting who talk; and the
        # web server loads while the services start, which are waited for.
        is_beginning = any(watch.is_beginning(now) for watch in self.watches if watch.service is self.web)
        waiting = self.jobs if is_beginning else []
        watches = [watch for watch in self.watches if watch.service not in waiting]
        watches.sort(key=lambda watch: watch.service is not self.web)
        started = [watch.service.name for watch in watches if watch.glance(now)]
        child_programs.reap_orphans(self._children())
        if started:
            self._record()
        if self.may_check_later and self.announced and not is_beginning:
            self.may_check_later = False
            self._begin_to_prepare()
        self._heed_preparation()
        if not self.announced and _answers(self.link + "healthz"):
            self.announced = True
            say(self._welcome())
            self._start_jobs()  # not before: the first page should not wait for them

    def _welcome(self) -> str:
        lines = [f"Turnwise is ready: {self.link}"]
        if self.worker_path:
            lines.append(f"  Chat as a worker   {self.link}{self.worker_path.lstrip('/')}")
        lines.append(f"  Sign in            {self.link}sign-in/")
        if self.admin:
            lines.append(f"  Name and password  {self._password()}")
        return "\n".join([*lines, f"  Data               {self.var}", "  Stop               Ctrl-C"])

    def _stop_all(self) -> None:
        stop(self.preparation)
        # First what talks to browsers, last what holds the data.
        programs = [watch.service for watch in self.watches if isinstance(watch.service, Program)]
        services = [watch.service for watch in self.watches if not isinstance(watch.service, Program)]
        for service in [*programs, *reversed(services)]:
            service.stop()
        for name in ("services.json", "processes.json"):
            (self.var / name).unlink(missing_ok=True)
        if self.admin and not self.announced:
            say(f"The admin was made: {self._password()}")

    def _password(self) -> str:
        assert self.admin
        return installation.hand_over_password(self.admin, self.var, is_read_now=sys.stdout.isatty())


def say(text: str) -> None:
    print(text, flush=True)


def _link(host: str, port: int) -> str:
    seen = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"http://[{seen}]:{port}/" if ":" in seen else f"http://{seen}:{port}/"


def _children_environment(var: Path, host: str) -> dict[str, str]:
    environment = dict(os.environ)
    environment["TURNWISE_VAR"] = str(var)
    # By default uvicorn believes every program of this machine for what address it speaks.
    environment.setdefault("FORWARDED_ALLOW_IPS", "")
    if "ALLOWED_HOSTS" not in environment:
        name = socket.gethostname() if host in ("0.0.0.0", "::") else host
        names = ["localhost", "127.0.0.1", "[::1]", f"[{name}]" if ":" in name else name]
        environment["ALLOWED_HOSTS"] = ",".join(dict.fromkeys(names))
    return environment


def _answers(link: str) -> bool:
    try:
        with urllib.request.urlopen(link, timeout=1):
            return True
    except urllib.error.HTTPError:
        return True  # it answers, if only to say that ALLOWED_HOSTS lacks our name for it
    except OSError:
        return False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
    )
    parser.add_argument("--port", type=int, default=8000, help="port to listen on; 0 takes a free one")
    default = str(data_folder())
    parser.add_argument(
        "--data", "--var", dest="var", default=default, help="folder for all data (default: %(default)s)"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="turnwise serve")
    add_arguments(parser)
    options = parser.parse_args()
    import_module("turnwise.project.settings")  # what cannot be read in them is said before anything starts
    # No exception from a signal: it could fall between starting a child and noting it down.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: ending.set())
    try:
        _serve(options.var, options.host, options.port)
    except StartError as error:
        print(error, file=sys.stderr)
        return 1
    say("Turnwise has stopped.")
    return 0


def _serve(folder: str, host: str, port: int) -> None:
    if not folder.strip():
        raise StartError("--data is empty. Name a folder for all data, or leave --data out.")
    var = Path(folder).absolute()
    installation.make_folder(var)
    child_programs.adopt_orphans()
    with installation.sole_use(var) as note:
        # Those of a run that was killed: they may still end in order, and hold the port meanwhile.
        stop_recorded(var / "processes.json")
        with installation.listen(host, port) as listener:
            supervisor = Supervisor(var, host, listener)
            note(supervisor.link)
            supervisor.run()


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        sys.exit(main())
