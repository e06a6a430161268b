import signal
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from turnwise.exports import bundle_jobs

LONGEST_SECONDS = 3600


class Command(BaseCommand):
    help = "Make a bundle that was requested on its page. The job worker runs this command."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("bundle", type=int, help="its number in the database")

    def handle(self, *args: Any, bundle: int, **options: Any) -> None:
        # It holds a database snapshot, so the system ends it after this time.
        signal.alarm(LONGEST_SECONDS)
        bundle_jobs.make(bundle)
