from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from turnwise.transcripts.storing import import_requested


class Command(BaseCommand):
    help = "Import an upload that was asked for on its page. The job worker runs it."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("upload", type=int, help="its number, as in the address of its page")

    def handle(self, *args: Any, upload: int, **options: Any) -> None:
        import_requested(upload)
