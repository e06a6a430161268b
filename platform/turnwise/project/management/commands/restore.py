import os
import subprocess
import sys
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
from turnwise.project.supervision import installation
from turnwise.project.supervision.embedded import PostgreSQL
from turnwise.project.supervision.processes import StartError


class Command(BaseCommand):
    help = (
        "Put what `turnwise backup` wrote in the place of what the database holds: all of it or nothing. "
        "First stop all programs of Turnwise but a PostgreSQL of your own. The embedded one starts by itself."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="even if there are conversations now, which are then gone"
        )

    def handle(self, *args: Any, file: Path, replace: bool, **options: Any) -> None:
        if not os.environ.get("DATABASE_URL"):
            _restore_embedded(file, replace=replace)
            return
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


def _restore_embedded(file: Path, *, replace: bool) -> None:
    """Start the embedded PostgreSQL alone, and run this command on it as the owner of its tables."""
    command = [sys.executable, "-m", "turnwise", "manage", "restore", str(file.absolute())]
    command += ["--replace"] if replace else []
    try:
        with installation.sole_use(settings.VAR):
            server = PostgreSQL(settings.VAR / "postgresql")
            try:
                server.start()
                installation.forget_preparation(server.folder)  # the next start checks the data first
                addresses = {"DATABASE_URL": server.owner_url, "APPLICATION_DATABASE_URL": server.url}
                environment = {**os.environ, **addresses, "TURNWISE_VAR": str(settings.VAR)}
                status = subprocess.run(command, env=environment, check=False).returncode
            finally:
                server.stop()
    except (StartError, OSError) as error:
        raise CommandError(str(error)) from None
    if status:
        sys.exit(status)
