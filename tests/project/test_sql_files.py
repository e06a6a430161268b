"""The functions of the database are what their files say: each has one current text."""

from pathlib import Path

import pytest
from django.db import connection, transaction

from turnwise.live.sql import files_of

APPS = (
    "accounts",
    "contexts",
    "knowledge",
    "questions",
    "crowd",
    "dialogues",
    "responses",
    "labels",
    "judging",
    "quality",
)
FILES = [(app, path) for app in APPS for path in files_of(f"turnwise.{app}")]


def definition(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = %s", [name])
        rows = cursor.fetchall()
    assert len(rows) == 1, f"{name} exists {len(rows)} times"
    return str(rows[0][0])


@pytest.mark.django_db
@pytest.mark.parametrize(("app", "path"), FILES, ids=[path.stem for _, path in FILES])
def test_the_function_in_the_database_has_the_text_of_its_file(app: str, path: Path) -> None:
    name = f"{app}_{path.stem}"
    loaded = definition(name)

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(path.read_text())
        assert definition(name) == loaded
        transaction.set_rollback(True)


@pytest.mark.django_db
def test_every_function_of_ours_has_a_file() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace")
        found = {name for (name,) in cursor.fetchall()}

    assert found == {f"{app}_{path.stem}" for app, path in FILES}
