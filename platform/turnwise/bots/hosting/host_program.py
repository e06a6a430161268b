"""A host of bots, as `turnwise.project.supervision.keeper` keeps it running for `manage.py hostbots`."""

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

import django
from django.core.management import BaseCommand, CommandError, call_command, load_command_class


def load(names: Sequence[str]) -> Callable[[], Callable[[], int]]:
    """Import all modules that a host needs; each forked copy loads the bots."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
    django.setup()
    host = partial(_host, load_command_class("turnwise.project", "hostbots"), names)
    return lambda: host


def _host(command: BaseCommand, names: Sequence[str]) -> int:
    try:
        call_command(command, *names, once=True)
    except CommandError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
