from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from turnwise.project.supervision import serving, supervisor


class Command(BaseCommand):
    """As `manage.py` knows it for its help; it runs it without Django."""

    help = "Run Turnwise on this machine: PostgreSQL, Redis, the web server with its bots, and the jobs."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        supervisor.add_arguments(parser)

    def handle(self, *args: Any, host: str, port: int, var: str, **options: Any) -> None:
        serving.become(["--host", host, "--port", str(port), "--var", var])
