import io
import json
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django_migration_linter import MigrationLinter

RELEASED = Path(__file__).parents[1] / "fixtures" / "release-1.0" / "migrations.json"
# Locks that workers wait for. Where the table stays small, accept the migration below.
LOCKS = ("CREATE_INDEX", "CREATE_INDEX_EXCLUSIVE", "DROP_INDEX", "REINDEX")
ACCEPTED: dict[str, str] = {}
"""Migrations that the linter refuses, by name, each with the reason why it harms nobody."""
CURE = """
Servers of the previous version run while this migration is applied, and tables may be large. Give a new
column `db_default` or null=True; remove or rename a column only in the version after the one that stopped
using it; make an index with AddIndexConcurrently in a migration of its own (atomic = False). If it harms
nobody, say why in ACCEPTED.
"""


@pytest.mark.django_db
def test_every_model_change_has_its_migration() -> None:
    planned = io.StringIO()
    try:
        call_command("makemigrations", check_changes=True, dry_run=True, stdout=planned)
    except SystemExit:
        pytest.fail(f"Run manage.py makemigrations:\n{planned.getvalue()}")


def linted(names: set[str]) -> MigrationLinter:
    """The linter after these migrations, as `app.name`; it prints what it finds."""
    linter = MigrationLinter(no_cache=True, warnings_as_errors_tests=LOCKS)
    for (app, name), migration in MigrationLoader(connection).disk_migrations.items():
        if f"{app}.{name}" in names:
            linter.lint_migration(migration)
    return linter


@pytest.mark.django_db(transaction=True)  # an index made concurrently has no SQL within a transaction
def test_migrations_since_the_release_suit_running_servers_and_large_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours = {config.label for config in apps.get_app_configs() if config.name.startswith("turnwise.")}
    known = {*json.loads(RELEASED.read_text()), *ACCEPTED}
    new = {
        f"{app}.{name}" for app, name in MigrationLoader(connection).disk_migrations if app in ours
    } - known

    assert not linted(new).has_errors, capsys.readouterr().out + CURE


@pytest.mark.django_db
def test_the_linter_finds_what_older_servers_cannot_bear(capsys: pytest.CaptureFixture[str]) -> None:
    """By migrations from before the release."""
    linter = linted({"dialogues.0003_generation_of_replies", "studies.0008_scenarios"})

    assert linter.nb_erroneous == 2
    found = capsys.readouterr().out
    for finding in ("DROPPING columns", "NOT NULL constraint", "DROP INDEX locks table"):
        assert finding in found
