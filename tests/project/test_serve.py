"""`manage.py serve` with everything real: processes, PostgreSQL, Redis, HTTP."""

import json
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

Serve = Callable[..., Any]
Manage = Callable[..., subprocess.CompletedProcess[str]]
ALL = {"uvicorn", "worker", "beat", "postgres", "redis-server"}


def status_of(link: str) -> int:
    try:
        with urllib.request.urlopen(link, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def wait_for_status(link: str, status: int) -> int:
    deadline = time.monotonic() + 40
    while (found := status_of(link)) != status and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def test_one_life_from_an_empty_folder_to_ctrl_c(
    serve: Serve, manage: Manage, folder: Path, wait_until_gone: Callable[[psutil.Process], bool]
) -> None:
    var = folder / "var"
    running = serve(var, "--port", "0")
    link = running.link
    worker_link = running.wait_until_said(r"Chat as a worker +(\S+)")[1]
    running.wait_until_said(r"Name and password +admin / \S{12,}  \(shown this once\)")
    assert set(running.children()) == ALL

    assert urllib.request.urlopen(link + "healthz").read() == b"ok"
    assert (status_of(worker_link), status_of(link + "sign-in/")) == (200, 200)
    assert (var / "secret_key").stat().st_mode & 0o077 == 0

    # Beside it: a shell finds the same database, a second server refuses to share the folder or the port.
    counted = manage(
        "shell",
        "--no-imports",
        "-c",
        "from studies.models import Study; print(Study.objects.count())",
        TURNWISE_VAR=str(var),
    )
    assert counted.stdout == "1\n"
    second = manage("serve", "--var", str(var), "--port", "0")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == (
        f"Turnwise already runs on {var} (process {running.process.pid}, {link}). Stop it with Ctrl-C or "
        f"`kill {running.process.pid}`, or give this one another folder with --var.\n"
    )
    port = link.rstrip("/").rpartition(":")[2]
    neighbour = manage("serve", "--var", str(folder / "other"), "--port", port)
    assert neighbour.returncode == 1
    assert neighbour.stderr.startswith(f"Port {port} is taken by python")
    assert neighbour.stderr.count("\n") == 1

    # Pages of other sites cannot open a socket with our cookies; our own pages and plain clients can.
    socket_link = link.replace("http", "ws") + "ws/dialogues/00000000-0000-4000-8000-000000000000/"
    with pytest.raises(InvalidStatus) as refused:
        connect(socket_link, origin=Origin("http://evil.example"))
    assert refused.value.response.status_code == 403
    assert b"its address and the server's differ" in (refused.value.response.body or b"")
    for origin in (Origin(link.rstrip("/")), None):
        with connect(socket_link, origin=origin) as websocket:
            assert json.loads(websocket.recv())["reason"] == "no_session"

    # Ready once the timer's first heartbeat went through the worker.
    assert wait_for_status(link + "readyz", 200) == 200

    children = running.children()
    assert running.end(signal.SIGINT) == 0
    assert running.said().endswith("Turnwise has stopped.\n")
    assert all(wait_until_gone(child) for child in children.values())
    assert not (var / "services.json").exists()


def test_after_kill_9_the_next_start_has_all_data_and_dead_children_come_back(
    serve: Serve, folder: Path, wait_until_gone: Callable[[psutil.Process], bool]
) -> None:
    var = folder / "var"
    first = serve(var, "--port", "0")
    link = first.link
    path = first.wait_until_said(r"Chat as a worker +http://[^/]+(\S+)")[1]
    children = first.children()
    assert set(children) == ALL

    for name, speaks_as in (
        ("uvicorn", "The web server"),
        ("redis-server", "Redis"),
        ("postgres", "PostgreSQL"),
    ):
        children[name].kill()
        first.wait_until_said(rf"{speaks_as} ended \(signal SIGKILL\)\. Starting it again in 1 s\.")
    assert wait_for_status(link + path.lstrip("/"), 200) == 200
    children = first.children()
    assert set(children) == ALL

    first.end(signal.SIGKILL)
    second = serve(var, "--port", "0")
    assert status_of(second.link.rstrip("/") + path) == 200
    assert "Name and password" not in second.said()
    assert all(wait_until_gone(child) for child in children.values())
    assert second.end(signal.SIGTERM) == 0


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
        (["--port", "70000"], "--port 70000 is no port. "),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 is no address of this machine "),
        (["--host", "no.such.host.invalid"], "--host no.such.host.invalid is no address of this machine "),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(
    manage: Manage, folder: Path, arguments: list[str], complaint: str
) -> None:
    ended = manage("serve", "--var", str(folder), "--port", "0", *arguments)
    assert ended.returncode == 1
    assert ended.stderr.startswith(complaint)
    assert ended.stderr.count("\n") == 1
