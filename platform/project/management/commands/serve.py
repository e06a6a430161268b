import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from project import supervisor


class Command(BaseCommand):
    help = "Run Turnwise on this machine: PostgreSQL, Redis, the web server with its bots, and the jobs."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        supervisor.add_arguments(parser)

    def handle(self, *args: Any, host: str, port: int, var: str, **options: Any) -> None:
        # Django was set up for this command with the settings of the shell. The supervisor starts
        # without: it decides what the settings of its children read, and stays half the size.
        paths = [*supervisor.source_roots(), os.environ.get("PYTHONPATH", "")]
        os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        command = [
            sys.executable,
            "-m",
            "project.supervisor",
            "--host",
            host,
            "--port",
            str(port),
            "--var",
            var,
        ]
        os.execv(sys.executable, command)
