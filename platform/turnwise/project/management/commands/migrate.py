"""Django's command migrate, which makes the schema of a new database in a fraction of the time."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from django.core.management.commands.migrate import Command as MigrateCommand
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState


class Command(MigrateCommand):
    """Migrate; a new database quickly, an existing one as Django does."""

    def handle(self, *arguments: Any, **options: Any) -> None:
        """Run the migrations."""
        is_new = not MigrationRecorder(connections[options["database"]]).has_table()
        with classes_made_once() if is_new else nullcontext():
            super().handle(*arguments, **options)


@contextmanager
def classes_made_once() -> Iterator[None]:
    """Make a new class after each operation only of the model that it changed.

    Django also makes new classes of all models that are related over any number of others, which is nearly
    every model here: most of the time of several hundred operations. Statements that create need the tables
    and columns of related models, which their present classes have. Python code in migrations gets all
    classes anew, as after any change for which Django itself puts this off. Later migrations run as Django
    runs them, and a test compares the two schemas.
    """
    find: Any = ProjectState._find_reload_model  # type: ignore[attr-defined]

    def only_itself(state: ProjectState, app: str, model: str, delay: bool = False) -> set[tuple[str, str]]:
        state.is_delayed = True
        return {(app, model)}

    ProjectState._find_reload_model = only_itself  # type: ignore[attr-defined]
    try:
        yield
    finally:
        ProjectState._find_reload_model = find  # type: ignore[attr-defined]
