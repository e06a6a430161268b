from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from turnwise.project.database import (
    AnotherVersionError,
    DumpError,
    WrongEncodingError,
    migrate_and_check,
    restore,
)


class Command(BaseCommand):
    help = (
        "Put what `manage.py backup` wrote in the place of what the database holds: all of it or nothing. "
        "First stop all programs of Turnwise but PostgreSQL."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="even if there are conversations now, which are then gone"
        )

    def handle(self, *args: Any, file: Path, replace: bool, **options: Any) -> None:
        try:
            restore(settings.DATABASE_URL, file, replace=replace)
        except DumpError as error:
            raise CommandError(str(error)) from None
        try:
            migrate_and_check()  # a backup may be of an earlier version
        except WrongEncodingError as error:
            raise CommandError(f"{file} is restored, but not where Turnwise can run. {error}") from None
        except AnotherVersionError as difference:
            raise CommandError(
                f"{file} is restored, but was made by a version of Turnwise from which nothing leads to this "
                f"one: {difference}. Run that version on this database, or restore another backup here."
            ) from None
        self.stdout.write(f"{file} is restored.")
