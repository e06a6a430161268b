"""Functions and triggers of the database: each stands in one file, `APP/sql/NAME.sql`, its current text.

A migration loads it with `LoadSQL`. Whoever changes a file adds a migration that loads it once more; a
function whose parameters change is dropped there first.

Conditions of check constraints, in their shortest form.

PostgreSQL reads the text of a table's check constraints anew for every statement that writes a row of it:
longhand, those of labels took 30 of 450 µs of PostgreSQL for a judgment. For the same reason the counts in
dialogues and labels are plain integers, whose fields bring no constraint of their own.
"""

import importlib
from pathlib import Path
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.models import F, Func, IntegerField, Q
from django.db.models.lookups import Exact
from typing_extensions import override


def both_or_neither(one: Q, other: Q) -> Exact:
    """Both hold, or neither does. For conditions that are never unknown: nothing that may be NULL."""
    return Exact(one, other)


def one_of(*fields: str) -> Exact:
    """Exactly one of these fields has a value."""
    return Exact(Func(*map(F, fields), function="num_nonnulls", output_field=IntegerField()), 1)


def files_of(package: str) -> list[Path]:
    """SQL files of an app, given by its package, in the order of their names."""
    file = importlib.import_module(package).__file__
    assert file
    return sorted((Path(file).parent / "sql").glob("*.sql"))


class LoadSQL(Operation):
    """Create the functions and triggers of these files of an app, or put their new text in place."""

    reversible = True

    def __init__(self, app: str, *names: str) -> None:
        """Take the app, and the names of its files without their ending."""
        self.app, self.names = app, names

    @override
    def state_forwards(self, app_label: str, state: Any) -> None:
        """Nothing that a model knows of."""

    @override
    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        texts = {path.stem: path for path in files_of(f"turnwise.{self.app}")}
        for name in self.names:
            schema_editor.execute(texts[name].read_text(), params=None)

    @override
    def database_backwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: Any, to_state: Any
    ) -> None:
        for name in reversed(self.names):
            schema_editor.execute(f"DROP FUNCTION IF EXISTS {self.app}_{name} CASCADE", params=None)

    @override
    def describe(self) -> str:
        return f"Loads {', '.join(self.names)} of {self.app}"
