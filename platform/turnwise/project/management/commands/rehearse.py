"""`manage.py rehearse`: runs a rehearsal, with a temporary web server on this database."""

import socket
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from turnwise.live.subprocesses import environment, python_command
from turnwise.project.supervision.processes import StartError, spawn, stop
from turnwise.rehearsals.findings import ENOUGH_FOR_A_BOT, Outcome
from turnwise.rehearsals.page_visitor import PageError, Visitor
from turnwise.rehearsals.rehearsed_task import FEWEST_WORKERS, UnrehearsableError
from turnwise.rehearsals.run import Say, record_progress, run
from turnwise.rehearsals.services import delete_rehearsal, enough_workers, make_rehearsal
from turnwise.rehearsals.simulated_worker import MismatchError
from turnwise.studies.models import Study
from turnwise.studies.queries import REFERENCE_HELP, UnknownStudyError, study_named

START_SECONDS = 120.0


@contextmanager
def served() -> Iterator[str]:
    """The address of a server that runs meanwhile.

    Raises:
        StartError: it did not start; what it said stands above.
    """
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        command = python_command(
            "-m",
            "turnwise.project.supervision.keeper",
            "--once",
            "turnwise.project.web_server",
            "--fd",
            str(listener.fileno()),
        )
        process = spawn(command, environment=environment(), pass_fds=[listener.fileno()])
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _answers(f"{address}healthz"):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise StartError("The web server for the rehearsal did not start; the reason is above.")
            yield address
        finally:
            stop(process)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        time.sleep(0.1)
        return False


class Command(BaseCommand):
    help = (
        "Try a study out: simulated workers (careful, careless, straight-lining, leaving, with two tabs) "
        "talk, judge or write in a copy of it, through pages and socket, and what the platform says of it "
        "is compared with the injected effects: scores, agreement where several judge the same, and counts. "
        "Exits with 1 if it differs. Where workers talk with bots, the study's own answer, including those "
        "that cost money."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help=REFERENCE_HELP)
        parser.add_argument(
            "--workers",
            type=int,
            help=f"(default: {FEWEST_WORKERS}, or {ENOUGH_FOR_A_BOT} for each chatbot if that is more; where "
            "people write, as many as write all that is wanted, from 10 to 200)",
        )
        parser.add_argument("--at-once", type=int, default=10, help="at the same time (default: %(default)s)")
        parser.add_argument(
            "--url", help="a running server with this database; by default one is started for the rehearsal"
        )
        parser.add_argument(
            "--noted", action="store_true", help="tell the study's page, where the rehearsal was asked for"
        )
        parser.add_argument("--delete", action="store_true", help="delete the study's rehearsal instead")

    def handle(self, *args: Any, study: str, workers: int | None, at_once: int, **options: Any) -> None:
        try:
            found = study_named(study)
        except UnknownStudyError as error:
            raise CommandError(str(error)) from None
        if options["delete"]:
            self._delete(found)
            return
        if workers is None:
            workers = enough_workers(found)
        if workers < 1 or at_once < 1:
            raise CommandError("--workers and --at-once take a number from 1 up.")
        try:
            with (
                record_progress(found, self.stdout.write)
                if options["noted"]
                else nullcontext(self.stdout.write) as say
            ):
                outcome = self._rehearsed(found, workers, at_once, options["url"], say)
        except UnrehearsableError as error:
            raise CommandError(str(error)) from None
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self._say(outcome)

    def _delete(self, study: Study) -> None:
        rehearsal = Study.objects.filter(rehearsal_of=study).first()
        if rehearsal is None:
            raise CommandError(f"“{study.title}” has no rehearsal.")
        delete_rehearsal(rehearsal)
        self.stdout.write(f"The rehearsal of “{study.title}” is deleted.")

    def _rehearsed(self, study: Study, workers: int, at_once: int, url: str | None, say: Say) -> Outcome:
        if url:
            _see_that_it_answers(url)
        rehearsal = make_rehearsal(study, workers)
        say(f"{workers} simulated workers come to study {rehearsal.pk}, “{rehearsal.title}”.")
        try:
            with nullcontext(url) if url else served() as server:
                return run(rehearsal, server=server, workers=workers, at_once=at_once, say=say)
        except* (MismatchError, PageError, StartError) as errors:
            first = errors.exceptions[0]
            raise CommandError(f"The rehearsal stopped early: {first}") from None

    def _say(self, outcome: Outcome) -> None:
        for finding in outcome.findings:
            mark = {True: "yes ", False: "NO  ", None: "?   "}[finding.holds]
            self.stdout.write(mark + finding.words)
        if outcome.agreement:
            self.stdout.write(outcome.agreement)
        if not outcome.holds:
            raise CommandError(outcome.verdict)
        self.stdout.write(outcome.verdict)


def _see_that_it_answers(server: str) -> None:
    """Before anybody comes: simulated workers wait for a server that is gone, as it may come back."""
    try:
        Visitor(server).get("/healthz")
    except PageError as error:
        raise CommandError(str(error)) from None
