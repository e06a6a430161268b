import json
from argparse import ArgumentParser
from typing import Any

import psycopg2
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError, transaction

from turnwise.accounts.colleagues import create_first_admin
from turnwise.accounts.models import User
from turnwise.contexts.services import load_open_mtb
from turnwise.project.database import AnotherVersionError, WrongEncodingError, migrate_and_check
from turnwise.project.supervision import installation
from turnwise.project.supervision.installation import ANOTHER_VERSION
from turnwise.studies.demo_studies import create_demo_studies

_CONNECTION_ERRORS = (
    InterfaceError,
    OperationalError,
    psycopg2.InterfaceError,
    psycopg2.OperationalError,  # from connections that are not Django's
)


class Command(BaseCommand):
    help = (
        "Bring the database and static files up to date; make the first admin and the demo study if missing."
    )
    requires_system_checks = []  # they import every page, and `make serve` waits

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one line of JSON for a program")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._prepare(as_json=options["json"])
        except _CONNECTION_ERRORS as error:
            # `make serve` starts a killed PostgreSQL again and then repeats this command: one line is enough.
            reason = str(error).partition("\n")[0]
            raise CommandError(f"The connection to PostgreSQL failed: {reason}") from None

    def _prepare(self, *, as_json: bool) -> None:
        _bring_schema_up_to_date()
        call_command("collectstatic", interactive=False, verbosity=0)
        with transaction.atomic():  # an admin is made only if the password gets as far as being shown
            admin = create_first_admin()
            owner = User.objects.filter(is_superuser=True).earliest("pk")
            demo = create_demo_studies(owner)
            load_open_mtb()
        worker_path = demo.get_entry_url() if demo else ""
        if as_json:
            self.stdout.write(json.dumps({"admin": admin, "worker_path": worker_path}))
            return
        if admin:
            notice = installation.hand_over_password(admin, settings.VAR, is_read_now=self.stdout.isatty())
            self.stdout.write(f"First admin: {notice}")
        if demo:
            self.stdout.write(f"Demo study: {worker_path}")


def _bring_schema_up_to_date() -> None:
    try:
        migrate_and_check()
    except WrongEncodingError as error:
        raise CommandError(str(error)) from None
    except AnotherVersionError as difference:
        raise CommandError(
            f"The database holds data of another version of Turnwise: {difference}. Nothing is lost: "
            "start the version that made it, where manage.py backup and the bundles of studies take "
            "data along. This version needs a database of its own: another --data FOLDER (make serve "
            "VAR=FOLDER), or another DATABASE_URL.",
            returncode=ANOTHER_VERSION,
        ) from None
