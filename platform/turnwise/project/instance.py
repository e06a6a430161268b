"""What one running Turnwise has for itself: its data folder and its port."""

import contextlib
import fcntl
import json
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from turnwise.project.processes import StartError


def make_folder(var: Path) -> None:
    """Make the data folder, if there is none, and see that it can be written."""
    try:
        var.mkdir(parents=True, exist_ok=True)
        probe = var / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StartError(
            f"The data folder {var} cannot be written ({error.strerror}). "
            "Change its permissions, or choose another folder with --var."
        ) from None


@contextlib.contextmanager
def sole_use(var: Path) -> Iterator[Callable[[str], None]]:
    """Hold the data folder for this process alone; the system lets go of it when the process ends.

    Yields a function that notes, for whoever tries next, the link under which this one answers.
    """
    with (var / "lock").open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise StartError(_already_running(var, lock.read())) from None

        def note(link: str) -> None:
            lock.truncate(0)
            lock.write(json.dumps({"pid": os.getpid(), "link": link}))
            lock.flush()

        note("")
        yield note


def _already_running(var: Path, note: str) -> str:
    try:
        running = json.loads(note)
        pid, where = running["pid"], running["link"] or "just starting"
    except (json.JSONDecodeError, KeyError):
        return f"Another program holds {var / 'lock'}. Try again, or choose another folder with --var."
    return (
        f"Turnwise already runs on {var} (process {pid}, {where}). "
        f"Stop it with Ctrl-C or `kill {pid}`, or give this one another folder with --var."
    )


def listen(host: str, port: int) -> socket.socket:
    """The socket that the web server will answer on, taken before anything else starts.

    It outlives the web server: while that one is started anew, browsers wait instead of being refused.
    """
    if not 0 <= port <= 65535:
        raise StartError(f"--port {port} is not a port. Choose one from 1024 to 65535, or 0 for any.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # Connections inherit this. uvicorn takes a socket that it is given for one without TCP, and a reply
        # that follows on "saved" at once would wait for the browser's delayed acknowledgement: 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except PermissionError:
        raise StartError(
            f"Only root can use port {port}. Choose one above 1023, such as --port 8000."
        ) from None
    except OSError as error:
        if "in use" in str(error):
            raise StartError(
                f"Port {port} is taken{_by_whom(port)}. "
                "Choose another with --port, or --port 0 for any free one."
            ) from None
        raise StartError(
            f"--host {host} is not an address of this machine ({error.strerror}). Use 127.0.0.1 for this "
            "machine only, 0.0.0.0 for every network it is in."
        ) from None


def _by_whom(port: int) -> str:
    try:
        for found in psutil.net_connections("tcp"):
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port and found.pid:
                return f" by {psutil.Process(found.pid).name()} (process {found.pid})"
    except psutil.Error:
        pass
    return ""


def ensure_secret_key(var: Path) -> None:
    """Make the key that signs sessions, once, readable by its owner only."""
    if not (var / "secret_key").exists():
        write_private(var / "secret_key", secrets.token_urlsafe(50))


def told_once(admin: tuple[str, str], var: Path, *, is_read_now: bool) -> str:
    """Where name and password of the first admin are: here if a person reads this, else in a file.

    What is printed otherwise ends in a log, which lives long and is read by many.
    """
    if is_read_now:
        return "{} / {}  (shown this once)".format(*admin)
    file = var / "first_admin"
    write_private(file, "{} / {}\n".format(*admin))
    return f"in {file}  (change the password, then delete the file)"


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w") as output:
        output.write(text)
        output.flush()
        os.fsync(descriptor)
    unfinished.rename(file)
