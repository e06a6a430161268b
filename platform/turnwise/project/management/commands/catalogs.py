from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Bring the catalogs in locale/ up to date, and say which of the workers' texts need a translation."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            from turnwise.languages import worker_catalogs
        except ImportError as error:
            raise CommandError(f"{error}. Run `make setup`: catalogs are written with Babel.") from None
        for language, name in settings.LANGUAGES:
            if language == settings.LANGUAGE_CODE:
                continue
            wanted = worker_catalogs.renew(language)
            self.stdout.write(f"{name}: {len(wanted)} texts need a translation.")
            for each in wanted:
                self.stdout.write(f"  {each}")
