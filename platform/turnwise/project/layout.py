"""Whether a database is laid out as this version has it; migrations lead from some others only."""

from django.apps import apps
from django.core.management import call_command
from django.db import ProgrammingError, connection
from django.db.migrations.exceptions import InconsistentMigrationHistory
from django.db.migrations.loader import MigrationLoader

from turnwise.live.sql import files_of


class AnotherVersionError(Exception):
    """The data are of a version from which no migration leads here; the message is the first difference."""


class WrongEncodingError(Exception):
    """The database cannot hold every script that people write in; the message says what helps."""


def bring_up_to_date() -> None:
    """Migrate, and see that what is there now is what the models and the SQL files say.

    Raises:
        WrongEncodingError: texts beyond some letters would be refused later, at the worst moment.
        AnotherVersionError: it is not, so whatever ran on it would fail sooner or later.
    """
    _refuse_all_but_unicode()
    _refuse(_unknown_migration())
    try:
        call_command("migrate", interactive=False, verbosity=0)
    except (ProgrammingError, InconsistentMigrationHistory) as error:
        _refuse(str(error).splitlines()[0].rstrip("."))
    _refuse(_wrong_column() or _wrong_function())


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


def _refuse(difference: str) -> None:
    if difference:
        raise AnotherVersionError(difference)


def _unknown_migration() -> str:
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
