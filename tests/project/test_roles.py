"""What the role of the application may do in the database, and what is refused to everybody."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest
from django.db import DatabaseError, connection, transaction
from psycopg2.errors import InsufficientPrivilege

from turnwise.accounts.models import Event
from turnwise.crowd.models import PayEntry
from turnwise.project.database import DumpError, backup, restore
from turnwise.project.supervision.database_role import grant_application
from turnwise.project.supervision.embedded import PostgreSQL
from turnwise.quality.models import Decision
from turnwise.questions.models import SetVersion

MADE = """
CREATE TABLE entry (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, amount integer);
CREATE FUNCTION doubled(n integer) RETURNS integer LANGUAGE sql AS 'SELECT 2 * n';
"""


@pytest.fixture
def server(folder: Path) -> Iterator[PostgreSQL]:
    server = PostgreSQL(folder / "postgresql", durable=False)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def shared(new_folder: Callable[[], Path]) -> Iterator[PostgreSQL]:
    """A server whose tables were made after the role of the application."""
    server = PostgreSQL(new_folder() / "postgresql", durable=False)
    server.start()
    run(server.owner_url, MADE)
    yield server
    server.stop()


def run(address: str, statement: str) -> list[tuple[object, ...]]:
    with closing(psycopg2.connect(address)) as connected, connected, connected.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.mark.django_db
@pytest.mark.parametrize("model", [PayEntry, Event, Decision, SetVersion])
def test_the_database_refuses_to_empty_a_table_whose_rows_stay(model: type[PayEntry]) -> None:
    with pytest.raises(DatabaseError, match=r"append-only|versions stay"), transaction.atomic():
        connection.cursor().execute(f"TRUNCATE {model._meta.db_table} CASCADE")


@pytest.mark.django_db
def test_emptying_studies_does_not_empty_their_ledger() -> None:
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        connection.cursor().execute("TRUNCATE studies_study CASCADE")


def test_the_application_reads_and_writes_rows_of_tables_that_are_made_later(shared: PostgreSQL) -> None:
    run(shared.url, "INSERT INTO entry (amount) VALUES (1), (2)")
    run(shared.url, "UPDATE entry SET amount = doubled(amount)")
    run(shared.url, "DELETE FROM entry WHERE amount = 2")

    assert run(shared.url, "SELECT amount FROM entry") == [(4,)]


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE entry",
        "ALTER TABLE entry DISABLE TRIGGER ALL",
        "ALTER TABLE entry ADD COLUMN note text",
        "DROP TABLE entry",
        "CREATE TABLE other (id integer)",
        "CREATE OR REPLACE FUNCTION doubled(n integer) RETURNS integer LANGUAGE sql AS 'SELECT 3 * n'",
        "SET session_replication_role = replica",
        "SET ROLE turnwise",
        "CREATE ROLE another SUPERUSER",
        "CREATE DATABASE another",
        "ALTER ROLE turnwise_app SUPERUSER",
        "COPY entry TO PROGRAM 'cat'",
    ],
)
def test_the_application_changes_no_table_and_is_no_superuser(shared: PostgreSQL, statement: str) -> None:
    with closing(psycopg2.connect(shared.url)) as connected, connected.cursor() as cursor:
        connected.autocommit = True
        with pytest.raises(InsufficientPrivilege):
            cursor.execute(statement)


def test_the_application_owns_nothing(shared: PostgreSQL) -> None:
    owned = "SELECT FROM pg_shdepend WHERE refobjid = 'turnwise_app'::regrole AND deptype = 'o'"
    assert run(shared.owner_url, owned) == []


def test_data_made_before_there_was_this_role_get_it(folder: Path) -> None:
    before = PostgreSQL(folder / "postgresql", durable=False)
    before.start()
    run(before.owner_url, MADE)
    run(before.owner_url, "DROP OWNED BY turnwise_app; DROP ROLE turnwise_app")
    before.stop()

    after = PostgreSQL(folder / "postgresql", durable=False)
    after.start()
    try:
        run(after.url, "INSERT INTO entry (amount) VALUES (1)")
        assert run(after.url, "SELECT id FROM entry") == [(1,)]
    finally:
        after.stop()


def test_an_owner_that_is_no_superuser_creates_the_role_with_the_password_of_its_address(
    server: PostgreSQL,
) -> None:
    run(server.owner_url, "CREATE ROLE plain LOGIN CREATEROLE; ALTER DATABASE turnwise OWNER TO plain")
    owner = server.owner_url.replace("turnwise@", "plain@")
    application = server.owner_url.replace("turnwise@", "another_app:it%27s@")

    for _ in range(2):
        grant_application(owner, application)
    run(owner, MADE)

    run(application, "INSERT INTO entry (amount) VALUES (1)")
    about = "SELECT rolsuper, rolcreaterole, rolpassword IS NOT NULL FROM pg_authid WHERE rolname = %s"
    assert run(server.owner_url, about.replace("%s", "'another_app'")) == [(False, False, True)]


def test_one_role_for_everything_is_left_as_it_is(server: PostgreSQL) -> None:
    grant_application(server.owner_url, server.owner_url)

    assert run(server.owner_url, "SELECT rolsuper FROM pg_roles WHERE rolname = 'turnwise'") == [(True,)]


def test_the_application_makes_backups_and_the_owner_restores_them(
    server: PostgreSQL, tmp_path: Path
) -> None:
    run(server.owner_url, MADE + "INSERT INTO entry (amount) VALUES (7)")
    file = tmp_path / "turnwise.dump"
    backup(server.url, file)

    with pytest.raises(DumpError, match="turnwise_app of DATABASE_URL does not own the tables"):
        restore(server.url, file)
    restore(server.owner_url, file)

    run(server.url, "INSERT INTO entry (amount) VALUES (8)")
    assert run(server.url, "SELECT amount FROM entry ORDER BY id") == [(7,), (8,)]


def test_an_owner_that_is_no_superuser_sees_that_the_application_is_connected(
    server: PostgreSQL, tmp_path: Path
) -> None:
    """Of connections of other roles PostgreSQL does not tell it the type."""
    file = tmp_path / "turnwise.dump"
    backup(server.url, file)
    run(server.owner_url, "CREATE ROLE plain LOGIN; GRANT CREATE ON DATABASE turnwise TO plain")
    run(server.owner_url, "ALTER SCHEMA public OWNER TO plain")

    with (
        closing(psycopg2.connect(server.url)),
        pytest.raises(DumpError, match="1 other connections use this database"),
    ):
        restore(server.owner_url.replace("turnwise@", "plain@"), file)
