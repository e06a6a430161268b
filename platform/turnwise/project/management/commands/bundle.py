import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from turnwise.exports.bundle import write_bundle
from turnwise.studies.queries import REFERENCE_HELP, UnknownStudyError, study_named


class Command(BaseCommand):
    help = "Write the bundle of a study, a zip archive: configuration, data and every number of its report."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help=REFERENCE_HELP)
        parser.add_argument("--output", type=Path, metavar="FILE.zip", help="default: standard output")

    def handle(self, *args: Any, study: str, output: Path | None, **options: Any) -> None:
        try:
            number = study_named(study).pk
        except UnknownStudyError as error:
            raise CommandError(str(error)) from None
        if output is None and sys.stdout.isatty():
            raise CommandError("A zip archive cannot be shown in a terminal. Name a file with --output.")
        if output is None:
            write_bundle(number, sys.stdout.buffer)
            return
        unfinished = output.with_name(f"{output.name}.part")
        with unfinished.open("wb") as file:
            write_bundle(number, file)
        unfinished.replace(output)
