import asyncio
import os
import signal
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NoReturn

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from chatbots.hosting.health import State
from chatbots.hosting.resident import leave
from turnwise.bots.hosting import resident_bots
from turnwise.bots.hosting.host_process import Hosting
from turnwise.bots.models import Bot
from turnwise.live.subprocesses import environment, python_command
from turnwise.project.supervision.processes import DRAIN, READY_FILE

GLANCE_SECONDS = 1.0
# Longer than any bot takes for a reply.
MOST_SECONDS_TO_DRAIN = 150.0


class Command(BaseCommand):
    help = (
        "Keep bots loaded in this process and answer for them over the Channels layer. Run it on the machine "
        "with the GPU, with the DATABASE_URL and REDIS_URL of the web server; several share the load. "
        "It is started again when it dies."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help="of a bot; none: every active bot")
        parser.add_argument(
            "--once",
            action="store_true",
            help="end when the process dies; for a supervisor of your own, which starts it again",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        names = frozenset(options["names"]) - {""}  # a composition of containers may pass an empty setting on
        try:
            known = set(Bot.objects.values_list("name", flat=True))
        except OperationalError as error:
            first_line = str(error).partition("\n")[0]
            raise CommandError(
                f"PostgreSQL does not answer: {first_line}. "
                "Set DATABASE_URL and REDIS_URL to those of the web server."
            ) from None
        if unknown := names - known:
            raise CommandError(
                f"No bot is called {', '.join(sorted(unknown))}. Known: {', '.join(sorted(known)) or 'none'}."
            )
        if not options["once"]:
            _keep_running(options["names"])
        settings.BOTS_HERE = names or None
        if hangs := asyncio.run(self._host()):
            self.stderr.write("A bot keeps hanging. Restart this host.")
        leave(70 if hangs else 0)

    async def _host(self) -> bool:
        """Host until a signal; True if the process must be replaced because of a bot that hangs."""
        stopping, draining = asyncio.Event(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        asyncio.get_running_loop().add_signal_handler(DRAIN, draining.set)
        last_news = ""
        async with Hosting() as hosting:
            while not stopping.is_set() and not draining.is_set() and not resident_bots.needs_new_process():
                news = ", ".join(
                    f"{each.row.name}: {each.resident.state}" for each in resident_bots.hosted_bots()
                )
                if news != last_news:
                    self.stdout.write(news or "There is no active bot of that name.")
                    self.stdout.flush()
                    last_news = news
                    _note_that_all_are_loaded()
                try:
                    await asyncio.wait_for(stopping.wait(), GLANCE_SECONDS)
                except TimeoutError:
                    continue
            if draining.is_set():
                await hosting.withdraw()
                await hosting.finish(MOST_SECONDS_TO_DRAIN)
            return not stopping.is_set() and not draining.is_set()


def _note_that_all_are_loaded() -> None:
    """Tell who started this host, by a file that they named, once no bot is loading any more."""
    file = os.environ.get(READY_FILE)
    if file and all(each.resident.state is not State.LOADING for each in resident_bots.hosted_bots()):
        Path(file).touch()


def _keep_running(names: list[str]) -> NoReturn:
    """Become the small process that starts this command and starts it again."""
    command = python_command(
        "-m",
        "turnwise.project.supervision.keeper",
        "The host of bots",
        "turnwise.bots.hosting.host_program",
        *names,
    )
    os.execve(command[0], command, environment())
