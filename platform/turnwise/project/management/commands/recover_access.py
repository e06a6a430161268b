from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from turnwise.accounts.colleagues import recover_access
from turnwise.accounts.models import User


class Command(BaseCommand):
    help = (
        "Print a one-time password for somebody who cannot sign in and whom no other admin can help. It "
        "signs them out everywhere. The audit log shows it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the name with which they sign in")
        parser.add_argument(
            "--second-factor", action="store_true", help="also remove their second factor, which they lost"
        )

    def handle(self, *args: Any, name: str, second_factor: bool, **options: Any) -> None:
        person = User.objects.filter(username=name, is_active=True).first()
        if person is None:
            admins = User.objects.filter(is_superuser=True, is_active=True).order_by("username")
            names = ", ".join(each.username for each in admins[:10]) or "none"
            raise CommandError(f"Nobody signs in here as “{name}”. The admins are: {names}.")
        password = recover_access(person, removes_second_factor=second_factor)
        self.stdout.write(f"{name} signs in once with {password}, and chooses another password then.")
        if second_factor:
            self.stdout.write("Their second factor is removed.")
