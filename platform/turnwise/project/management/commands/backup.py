from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from turnwise.project.database import DumpError, backup


class Command(BaseCommand):
    help = (
        "Write everything that PostgreSQL holds to one file, as of one moment; workers can carry on "
        "meanwhile. Keep the secret key with it: without it workers' sessions and resume cookies are void."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a new file, such as turnwise-2026-11-22.dump")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        try:
            size = backup(settings.DATABASE_URL, file)
        except DumpError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"{file}: {size / 1e6:.1f} MB. To try it: turnwise restore {file} --data NEW_FOLDER, or with the "
            "DATABASE_URL of an empty database."
        )
