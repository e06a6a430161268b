"""SQL functions and triggers, and short conditions for check constraints.

Each function or trigger has one file with its current text, `APP/sql/NAME.sql`, which a migration loads with
`LoadSQL`. If you change a file, add a migration that loads it again; drop a function there first if its
parameters change.

PostgreSQL parses a table's check constraints for every statement that writes to it: in long form, those of
labels took 30 of the 450 µs of a judgment. For the same reason the counts in dialogues and labels are plain
integers, whose fields add no constraint.
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
    """Condition that both hold or neither does; only for conditions that are never NULL."""
    return Exact(one, other)


def one_of(*fields: str) -> Exact:
    """Condition that exactly one of these fields has a value."""
    return Exact(Func(*map(F, fields), function="num_nonnulls", output_field=IntegerField()), 1)


def files_of(package: str) -> list[Path]:
    """SQL files of an app's package, sorted by name."""
    file = importlib.import_module(package).__file__
    assert file
    return sorted((Path(file).parent / "sql").glob("*.sql"))


class LoadSQL(Operation):
    """Create or replace the functions and triggers of these SQL files of an app."""

    reversible = True

    def __init__(self, app: str, *names: str) -> None:
        """Set the app and the names of its files without suffix."""
        self.app, self.names = app, names

    @override
    def state_forwards(self, app_label: str, state: Any) -> None:
        """Change no model state."""

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
