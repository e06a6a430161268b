from typing import Any

from django.core.management.base import BaseCommand

from turnwise.live.encryption.stored_secrets import renew_all


class Command(BaseCommand):
    help = (
        "Encrypt all stored secrets with the first key of TURNWISE_SECRET_KEYS. Afterwards the other keys "
        "may be removed from it. Safe to repeat."
    )
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        rows = renew_all()
        self.stdout.write(f"{rows} rows are encrypted with the newest key.")
