"""Child processes that do not outlive us, and those of an earlier run that did."""

import ctypes
import json
import math
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

import psutil

STOP_SECONDS = 20.0
# Time to close sockets and finish pages. Slower processes are killed, which loses nothing that was saved.
MOMENT_SECONDS = 1.0
GLANCE_SECONDS = 0.02
PR_SET_PDEATHSIG = 1
# Tells a server that is replaced to finish what is under way, and to end then.
DRAIN = signal.SIGUSR2
# Variable that names the file which a host of bots makes once its bots are loaded.
READY_FILE = "TURNWISE_READY_FILE"
# Those that end us in order.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StartError(Exception):
    """Something that the server needs cannot start. The message says why and what to do."""


class Child(Protocol):
    """A process of ours, as `subprocess.Popen` is one."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


class Fork:
    """A child that goes on from here as a copy of this process, in a session of its own."""

    def __init__(self, work: Callable[[], int], orphaned: Callable[..., None] | None = None) -> None:
        """Begin it; in the child this does not return, but ends the process when the work is done.

        When we are gone, the child ends, or does what `orphaned` says.
        """
        self.returncode: int | None = None
        arm = _die_with_parent(signal.SIGUSR1 if orphaned else signal.SIGTERM)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            return
        os.setsid()
        for number in (*ENDING, DRAIN):  # what the parent does about them is nothing for its child
            signal.signal(number, signal.SIG_DFL)
        if orphaned:
            signal.signal(signal.SIGUSR1, orphaned)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if arm:
            arm()
        sys.exit(work())

    def poll(self) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            time.sleep(GLANCE_SECONDS)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def spawn(
    command: list[str],
    *,
    output: IO[bytes] | int | None = None,
    errors: IO[bytes] | int | None = None,
    end: signal.Signals = signal.SIGTERM,
    user: pwd.struct_passwd | None = None,
    environment: Mapping[str, str] | None = None,
    pass_fds: Iterable[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own: the terminal's Ctrl-C is for us, who end children in order.

    On Linux the child gets `end` when we are gone, however we went.
    """
    process: subprocess.Popen[bytes] = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=errors,
        start_new_session=True,
        preexec_fn=_die_with_parent(end),
        env=environment,
        pass_fds=tuple(pass_fds),
        user=user.pw_uid if user else None,
        group=user.pw_gid if user else None,
        extra_groups=[] if user else None,
        cwd="/" if user else None,  # our working folder may be closed to the other user
    )
    return process


def stop(process: Child | None, end: signal.Signals = signal.SIGTERM) -> None:
    """End a child in order; kill it if it takes too long."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(end)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def stop_server_of(pid_file: Path, folder: Path, end: signal.Signals) -> None:
    """Stop the server that a killed parent left working in `folder`.

    The number in `pid_file` may belong to another program by now. The servers that we run have
    their data folder as working folder, and that tells them apart.
    """
    try:
        process = psutil.Process(int(pid_file.read_text().split()[0]))
        if Path(process.cwd()) == folder:
            _stop_orphan(process, end)
    except (FileNotFoundError, IndexError, ValueError, psutil.NoSuchProcess, psutil.AccessDenied):
        return


def kill_others_in(folder: Path) -> None:
    """Kill what still works in `folder`: two PostgreSQL servers on the same data would destroy them."""
    left = [process for process in psutil.process_iter() if _works_in(process, folder)]
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, STOP_SECONDS)


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.cwd()) == folder and process.pid != os.getpid()
    except (psutil.Error, FileNotFoundError):
        return False


def record(pids: Iterable[int], file: Path) -> None:
    """Write down which processes are ours, each with its time of birth."""
    born = {}
    for pid in pids:
        try:
            born[pid] = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            continue
    file.write_text(json.dumps(born))


def stop_recorded(file: Path) -> None:
    """End those of the recorded processes that still run; a number that was given anew is left alone.

    The database of a killed run has gone, so there is little that they could finish, and people wait.
    """
    try:
        born: dict[str, float] = json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return
    left: list[psutil.Process] = []
    for pid, created in born.items():
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(int(pid))
            if process.create_time() == created:
                copies = [each for each in process.children() if each.cmdline() == process.cmdline()]
                left += [process, *copies]
    end_at_once(left)
    file.unlink()


def end_at_once(left: Iterable[psutil.Process]) -> None:
    """Let processes that are not our children end in order for a moment; kill those that take longer."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for each in left:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)
        until = time.monotonic() + MOMENT_SECONDS
        while not all(map(is_gone, left)) and time.monotonic() < until:
            time.sleep(GLANCE_SECONDS)


def is_gone(process: psutil.Process) -> bool:
    """True if the process has ended, even if its parent has not noticed yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _stop_orphan(process: psutil.Process, end: signal.Signals) -> None:
    process.send_signal(end)
    deadline = time.monotonic() + STOP_SECONDS
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            process.kill()
        time.sleep(0.05)


def _die_with_parent(end: signal.Signals) -> Callable[[], None] | None:
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None).prctl  # loaded here: after the fork only the call itself is safe
    parent, number = os.getpid(), int(end)

    def arm() -> None:
        if end is not signal.SIGUSR1:  # our parent's own handler would swallow it until the program begins
            signal.signal(end, signal.SIG_DFL)
        prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it died before it could be watched
            os.kill(os.getpid(), number)

    return arm
