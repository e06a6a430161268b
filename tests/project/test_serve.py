"""`manage.py serve` with everything real: processes, PostgreSQL, Redis, HTTP."""

import json
import re
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import psycopg2
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from turnwise.project.supervision.embedded import PostgreSQL

Serve = Callable[..., Any]
Manage = Callable[..., subprocess.CompletedProcess[str]]


def status_of(link: str) -> int:
    try:
        with urllib.request.urlopen(link, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_for_status(link: str, status: int) -> int:
    deadline = time.monotonic() + 90
    while (found := status_of(link)) != status and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


@pytest.fixture(scope="module")
def running(serve: Serve, new_folder: Callable[[], Path]) -> Any:
    """A server on an empty folder, for the tests that leave it as it is."""
    return serve(new_folder() / "var", "--port", "0")


def test_the_first_start_prints_links_that_work_and_where_the_admin_s_password_is(running: Any) -> None:
    worker_link = running.wait_until_said(r"Chat as a worker +(\S+)")[1]
    running.wait_until_said(r"Name and password +in \S+/first_admin  \(change the password")
    password = running.var / "first_admin"
    assert password.stat().st_mode & 0o077 == 0
    assert password.read_text().partition(" / ")[2].strip() not in running.said()  # a log is read by many
    assert urllib.request.urlopen(running.link + "healthz").read() == b"ok"
    assert (status_of(worker_link), status_of(running.link + "sign-in/")) == (200, 200)
    assert (running.var / "secret_key").stat().st_mode & 0o077 == 0


def test_it_is_ready_once_a_heartbeat_of_the_timer_went_through_the_worker(running: Any) -> None:
    assert wait_for_status(running.link + "readyz", 200) == 200


def test_a_shell_beside_it_finds_the_same_database(running: Any, manage: Manage) -> None:
    program = "from turnwise.studies.models import Study; print(Study.objects.count())"
    running.wait_until_said(r"Chat as a worker +(\S+)")
    found = manage("shell", "--no-imports", "-c", program, TURNWISE_VAR=str(running.var))
    assert (found.stdout, found.stderr) == ("4\n", "")


def test_a_start_on_data_that_this_code_has_prepared_serves_first_and_checks_them_then(
    serve: Serve, folder: Path, prepared_var: Callable[[Path], Path]
) -> None:
    """Preparing takes longer than all else together. That data do not fit is noticed all the same."""
    var = prepared_var(folder)
    database = PostgreSQL(var / "postgresql")
    database.start()
    with closing(psycopg2.connect(database.owner_url)) as changed, changed, changed.cursor() as cursor:
        cursor.execute("ALTER TABLE bots_bot ADD mood text")
    database.stop()

    first = serve(var, "--port", "0")
    assert status_of(first.wait_until_said(r"Chat as a worker +(\S+)")[1]) == 200
    first.wait_until_said("bots_bot has a column mood, which this version")
    assert first.process.wait(90) == 1
    second = serve(var, "--port", "0")

    assert second.process.wait(90) == 1
    assert "bots_bot has a column mood" in second.said()
    assert "Turnwise is ready" not in second.said()


def test_a_second_one_may_not_share_the_folder(running: Any, manage: Manage) -> None:
    second = manage("serve", "--var", str(running.var), "--port", "0")
    pid = running.process.pid
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == (
        f"Turnwise already runs on {running.var} (process {pid}, {running.link}). Stop it with Ctrl-C or "
        f"`kill {pid}`, or give this one another folder with --data.\n"
    )


def test_a_second_one_may_not_share_the_port(running: Any, manage: Manage, folder: Path) -> None:
    port = running.link.rstrip("/").rpartition(":")[2]
    second = manage("serve", "--var", str(folder), "--port", port)
    assert second.returncode == 1
    assert second.stderr.startswith(f"Port {port} is taken by python")
    assert second.stderr.count("\n") == 1


def test_pages_of_other_sites_cannot_open_a_socket(running: Any) -> None:
    socket_link = running.link.replace("http", "ws") + "ws/dialogues/00000000-0000-4000-8000-000000000000/"
    with pytest.raises(InvalidStatus) as refused:
        connect(socket_link, origin=Origin("http://evil.example"))
    assert refused.value.response.status_code == 403
    assert b"its address and the server's differ" in (refused.value.response.body or b"")
    for origin in (Origin(running.link.rstrip("/")), None):
        with connect(socket_link, origin=origin) as websocket:
            assert json.loads(websocket.recv())["reason"] == "no_session"


def test_dead_children_come_back_and_after_kill_9_the_next_start_has_all_data(
    serve: Serve,
    folder: Path,
    prepared_var: Callable[[Path], Path],
    wait_until_gone: Callable[[psutil.Process], bool],
) -> None:
    var = prepared_var(folder)
    first = serve(var, "--port", "0")
    link = first.link
    path = first.wait_until_said(r"Chat as a worker +http://[^/]+(\S+)")[1]
    children = first.children()
    children["the web server's copy"] = first.web()
    names = {
        "the web server's copy": "The web server",
        "turnwise.project.web_server": "What keeps the web server running",
        "redis-server": "Redis",
        "postgres": "PostgreSQL",
    }
    first.check_of_the_data().kill()
    first.wait_until_said("The data could not be checked. That is tried again.")
    for name, speaks_as in names.items():
        children[name].kill()
        first.wait_until_said(rf"{speaks_as} ended \(signal SIGKILL\)\. Starting it again now\.")
    assert wait_for_status(link.rstrip("/") + path, 200) == 200

    children = first.children()
    first.end(signal.SIGKILL)
    second = serve(var, "--port", "0")
    assert status_of(second.link.rstrip("/") + path) == 200
    assert "Name and password" not in second.said()
    assert all(wait_until_gone(child) for child in children.values())

    children = second.children()
    assert second.end(signal.SIGINT) == 0
    assert second.said().endswith("Turnwise has stopped.\n")
    assert all(wait_until_gone(child) for child in children.values())
    assert not (var / "services.json").exists()


def test_external_services_that_do_not_answer_end_the_start_with_one_line(
    manage: Manage, folder: Path
) -> None:
    ended = manage(
        "serve", "--port", "0", "--var", str(folder), DATABASE_URL="postgresql://me:secret@127.0.0.1:1/x"
    )
    assert ended.returncode == 1
    assert ended.stderr == (
        'PostgreSQL: connection to server at "127.0.0.1", port 1 failed: Connection refused. '
        "Check the host and port in DATABASE_URL and that PostgreSQL runs there; "
        "unset DATABASE_URL to use the embedded one.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--var", "/dev/null/var"], "The data folder /dev/null/var cannot be written (Not a directory). "),
        (["--var", ""], "--data is empty. Name a folder for all data, "),
        (["--port", "70000"], "--port 70000 is not a port. "),
        (["--port", "-1"], "--port -1 is not a port. "),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 is not an address of this machine "),
        (
            ["--host", "no.such.host.invalid"],
            "--host no.such.host.invalid is not an address of this machine ",
        ),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    manage: Manage, folder: Path, arguments: list[str], complaint: str
) -> None:
    ended = manage("serve", "--var", str(folder), "--port", "0", *arguments)
    assert ended.returncode == 1
    assert ended.stderr.startswith(complaint)
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("TURNWISE_HTTPS", "maybe", "TURNWISE_HTTPS='maybe' is neither yes nor no. "),
        ("TURNWISE_BOT_DEADLINE", "soon", "TURNWISE_BOT_DEADLINE='soon' is not a number. "),
    ],
)
def test_a_setting_that_cannot_be_read_is_named_in_one_line(
    manage: Manage, name: str, value: str, complaint: str
) -> None:
    ended = manage("serve", **{name: value})
    assert ended.returncode == 1
    assert ended.stderr.startswith(complaint)
    assert ended.stderr.count("\n") == 1


def test_workers_go_on_while_redis_hangs_and_the_log_stays_short(running: Any) -> None:
    entry = running.wait_until_said(r"Chat as a worker +(\S+)")[1]
    redis = running.children()["redis-server"]
    redis.suspend()
    try:
        browser = Browser(entry)
        browser.begin()
        for _ in range(10):  # a page that is loaded again and again
            with browser.open_socket() as tab:
                state = json.loads(tab.recv(timeout=30))
                assert state["type"] == "state", state
        with browser.open_socket() as tab:
            tab.recv(timeout=30)
            tab.send(json.dumps({"type": "turn", "key": str(uuid4()), "text": "Hello?"}))
            kinds = [json.loads(tab.recv(timeout=30))["type"] for _ in range(2)]
        assert kinds == ["turn_saved", "bot_turn"]
    finally:
        redis.resume()
    assert "Traceback" not in running.said()
    assert len(running.said()) < 20_000


def test_an_invented_address_gives_nobody_more_attempts(running: Any) -> None:
    """No proxy is before it: 20 guesses at an invitation come from one address, whatever its header says."""

    def guessed(number: int) -> int:
        address = f"198.{number % 200}.{number // 200}.1"
        link = f"{running.link}join/guess-{number}/"
        guess = urllib.request.Request(link, headers={"X-Forwarded-For": address})
        try:
            with urllib.request.urlopen(guess, timeout=60) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return int(error.code)

    deadline = time.monotonic() + 60
    while guessed(0) == 503:  # a moment ago Redis did not answer, and no secret is tried uncounted
        assert time.monotonic() < deadline
        time.sleep(0.1)
    statuses: list[int] = []
    while 429 not in statuses and len(statuses) < 400:  # while it loads, 20 may take longer than a minute
        statuses.append(guessed(1 + len(statuses)))

    assert statuses[:1] == [404]
    assert 429 in statuses


class Browser:
    """What a worker's browser keeps: cookies, and where the last page sent it."""

    def __init__(self, entry: str) -> None:
        self.entry = entry
        self.cookies = urllib.request.HTTPCookieProcessor()
        self.opener = urllib.request.build_opener(self.cookies)
        self.page = self.get(entry)

    def get(self, link: str) -> str:
        with self.opener.open(link, timeout=60) as answer:
            return str(answer.read().decode())

    def post(self, link: str, **fields: str) -> str:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.page)
        assert token, self.page
        data = urllib.parse.urlencode(fields | {"csrfmiddlewaretoken": token[1]}).encode()
        with self.opener.open(link, data, timeout=60) as answer:
            return str(answer.read().decode())

    def begin(self) -> None:
        version = re.search(r'name="consent" value="(\d+)"', self.page)
        assert version
        self.page = self.post(self.entry + "consent/", agree="yes", consent=version[1])
        self.page = self.post(self.entry + "start/")

    def open_socket(self) -> ClientConnection:
        path = re.search(r"/ws/dialogues/[\w-]+/", self.page)
        assert path, self.page
        cookies = "; ".join(f"{each.name}={each.value}" for each in self.cookies.cookiejar)
        host = urllib.parse.urlsplit(self.entry).netloc
        return connect(f"ws://{host}{path[0]}", additional_headers={"Cookie": cookies})
