"""A running installation: its data folder, port, secret key and external servers.

Preparing the database is the slowest part of a start, and workers wait for it. So if the same code has
prepared the same database before, a restart serves first and checks later.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import socket
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
import psycopg2

from turnwise.live.locations import RESOURCES, SOURCE_ROOTS
from turnwise.project.supervision.processes import StartError


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
            "Change its permissions, or choose another folder with --data."
        ) from None


@contextlib.contextmanager
def sole_use(var: Path) -> Iterator[Callable[[str], None]]:
    """Hold the data folder for this process alone; the system lets go of it when the process ends.

    Yields a function that stores the link under which this process answers, for the next one that tries.
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
        return f"Another program holds {var / 'lock'}. Try again, or choose another folder with --data."
    return (
        f"Turnwise already runs on {var} (process {pid}, {where}). "
        f"Stop it with Ctrl-C or `kill {pid}`, or give this one another folder with --data."
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
                f"Port {port} is taken{_port_owner(port)}. "
                "Choose another with --port, or --port 0 for any free one."
            ) from None
        raise StartError(
            f"--host {host} is not an address of this machine ({error.strerror}). Use 127.0.0.1 for this "
            "machine only, 0.0.0.0 for every network it is in."
        ) from None


def _port_owner(port: int) -> str:
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


def hand_over_password(admin: tuple[str, str], var: Path, *, is_read_now: bool) -> str:
    """Hand over the first admin's password: in the text if a person reads it now, else in a file.

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


# Folders whose changes require a new preparation.
CODE_FOLDERS = (
    *(root / name for root in SOURCE_ROOTS for name in ("turnwise", "evaluation", "chatbots")),
    RESOURCES / "static",
)
PREPARED_FILE = "prepared.json"
# Exit code of `manage.py bootstrap` for data of another version: all programs on them must end, too.
ANOTHER_VERSION = 3


@dataclass(frozen=True, slots=True)
class Prepared:
    """Result of a preparation, with the fingerprint of the code that made it."""

    code: str
    worker_path: str


def last_preparation(folder: Path) -> Prepared | None:
    """The last preparation of this data folder, if the code is unchanged; else None."""
    try:
        found = Prepared(**json.loads((folder / PREPARED_FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return found if found.code == code_fingerprint() else None


def save_preparation(folder: Path, worker_path: str) -> None:
    """Store the prepared page beside the data, so that it is removed together with them."""
    write_private(folder / PREPARED_FILE, json.dumps(asdict(Prepared(code_fingerprint(), worker_path))))


def forget_preparation(folder: Path) -> None:
    (folder / PREPARED_FILE).unlink(missing_ok=True)


def code_fingerprint() -> str:
    """Fingerprint of all our files and of the installed packages' versions."""
    installed = sorted(os.listdir(sysconfig.get_path("purelib")))
    ours = sorted(line for folder in CODE_FOLDERS for line in _files(folder))
    return hashlib.sha256("\n".join([*installed, *ours]).encode()).hexdigest()


def _files(folder: Path) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            path = os.path.join(where, name)
            found = os.stat(path)
            yield f"{path} {found.st_size} {found.st_mtime_ns}"


# Cures by a part of libpq's message.
DATABASE_CURES = {
    "password": "Correct the user or the password in DATABASE_URL.",
    'role "': "Correct the user in DATABASE_URL, or create it with createuser.",
    'database "': "Create it with createdb, or correct the name in DATABASE_URL.",
    "translate host name": "Correct the host in DATABASE_URL.",
    "invalid": "Write DATABASE_URL as postgresql://user:password@host:5432/database.",
    "": "Check the host and port in DATABASE_URL and that PostgreSQL runs there; "
    "unset DATABASE_URL to use the embedded one.",
}


def check_database(url: str) -> None:
    """Connect once to `url`.

    Raises:
        StartError: with PostgreSQL's own reason and what to do; never with the password.
    """
    if not url.startswith(("postgres://", "postgresql://")):
        raise StartError(
            "DATABASE_URL is not the address of a PostgreSQL database. "
            "Write it as postgresql://user:password@host:5432/database."
        )
    try:
        psycopg2.connect(url, connect_timeout=5).close()
    except psycopg2.OperationalError as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        cure = next(cure for part, cure in DATABASE_CURES.items() if part in reason)
        raise StartError(f"PostgreSQL: {reason}. {cure}") from None
    except psycopg2.Error:
        raise StartError(
            "DATABASE_URL cannot be read. Write it as postgresql://user:password@host:5432/database, "
            "with %40 for @ and %2F for / inside the password."
        ) from None


def check_redis(url: str) -> None:
    """Ping the server at `url`.

    Raises:
        StartError: with the reason and what to do; never with the password.
    """
    import redis  # which takes a tenth of a second, and is needed for a server elsewhere only

    try:
        with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
            client.ping()
    except redis.AuthenticationError as error:
        raise StartError(f"Redis: {error}. Correct the user or the password in REDIS_URL.") from None
    except redis.RedisError as error:
        raise StartError(
            f"Redis: {str(error).rstrip('.')}. Check the host and port in REDIS_URL and that Redis "
            "runs there; unset REDIS_URL to use the embedded one."
        ) from None
    except ValueError:
        raise StartError(
            "REDIS_URL cannot be read. Write it as redis://:password@host:6379/0 or unix:///path/to/redis.sock."
        ) from None
