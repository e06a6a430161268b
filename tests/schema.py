"""The migrated test database, kept between runs: to migrate takes as long as many a test file.

A dump is known by everything that decides what is in it; whoever changes a migration gets a new one.
"""

import hashlib
import os
from contextlib import closing
from pathlib import Path

import psycopg2
from django.db import connection
from psycopg2.sql import SQL, Identifier

from turnwise.project.database import backup, restore

ROOT = Path(__file__).parents[1]
_DECIDING = (
    "constraints.txt", "platform/turnwise/*/migrations/**/*.py", "platform/**/sql/*.sql",
    "platform/turnwise/live/*.py",
    "platform/turnwise/project/database.py", "platform/turnwise/project/management/commands/migrate.py",
)  # fmt: skip


def restored(folder: Path) -> bool:
    """Make the test database from the dump in `folder`; False where there is no fitting dump."""
    dump = _dump(folder)
    name = connection.settings_dict["TEST"]["NAME"] or f"test_{connection.settings_dict['NAME']}"
    if not dump.exists():
        return False
    with closing(psycopg2.connect(os.environ["DATABASE_URL"])) as own:
        own.autocommit = True
        with own.cursor() as cursor:
            cursor.execute("SELECT FROM pg_database WHERE datname = %s", [name])
            if cursor.rowcount:
                return False
            cursor.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    restore(_address(name), dump)
    return True


def keep(folder: Path) -> None:
    """Keep the test database, just migrated, for later runs; older dumps go."""
    dump = _dump(folder)
    others = [each for each in folder.glob("*.dump") if each != dump]
    fresh = folder / f"{os.getpid()}.new"
    fresh.unlink(missing_ok=True)  # of a process of the same number that was killed
    backup(_address(connection.settings_dict["NAME"]), fresh)
    fresh.replace(dump)
    for each in others:
        each.unlink(missing_ok=True)


def _dump(folder: Path) -> Path:
    found = hashlib.sha256()
    for pattern in _DECIDING:
        for file in sorted(ROOT.glob(pattern)):
            found.update(f"{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return folder / f"{found.hexdigest()[:16]}.dump"


def _address(name: str) -> str:
    known = connection.get_connection_params()
    parts = {part: known[part] for part in ("user", "password", "host", "port") if known.get(part)}
    return psycopg2.extensions.make_dsn(dbname=name, **parts)
