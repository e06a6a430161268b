from argparse import ArgumentParser
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from turnwise.contexts.packed_files import PackedFileError
from turnwise.studies.queries import REFERENCE_HELP, UnknownStudyError, study_named
from turnwise.transcripts.file_guessing import described, format_of, head_of
from turnwise.transcripts.file_reading import Preview, preview
from turnwise.transcripts.importers import FORMATS, Source
from turnwise.transcripts.importers.turn_table import PARTS
from turnwise.transcripts.importing import (
    ImportRefusedError,
    every_set,
    guessed_systems,
    leave_out_unrateable,
)
from turnwise.transcripts.storing import BY_COMMAND, import_file


class Command(BaseCommand):
    help = "Import a file of conversations into a study. Prints what is wrong with line numbers."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--study", required=True, help=REFERENCE_HELP)
        parser.add_argument("--format", choices=sorted(FORMATS), help="guessed if not given")
        parser.add_argument(
            "--system",
            action="append",
            default=[],
            metavar="SPEAKER=TITLE",
            help="which system a speaker is; SPEAKER= for a person; guessed for speakers not named",
        )
        parser.add_argument(
            "--scripted-opening", action="store_true", help="first turns are scripted and not judged"
        )
        parser.add_argument(
            "--language", default="", help="code; not needed where the study has one language only"
        )
        parser.add_argument(
            "--column",
            action="append",
            default=[],
            metavar="PART=COLUMN",
            help=f"of a table: which column has the {', '.join(PARTS)}; PART= for none; guessed if not given",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be imported, and stop")

    def handle(self, *args: Any, file: Path, study: str, **options: Any) -> None:
        try:
            found = study_named(study)
        except UnknownStudyError as error:
            raise CommandError(str(error)) from None
        try:
            opened = file.open("rb")
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
        with opened:
            format_key = options["format"] or _guessed(opened, file)
            columns = _columns(options["column"])
            seen = preview(Source(opened, columns, every_set()), format_key, BY_COMMAND)
            leave_out_unrateable(found, seen)
            systems = guessed_systems(seen.speakers, talkers_judge=seen.talkers_judge) | _named(
                options["system"], seen
            )
            self._say(seen, format_key, systems, scripted_opening=options["scripted_opening"])
            if options["dry_run"]:
                return
            opened.seek(0)
            try:
                record = import_file(
                    found,
                    opened,
                    name=file.name,
                    format_key=format_key,
                    systems=systems,
                    scripted_opening=options["scripted_opening"],
                    language=options["language"],
                    columns=columns,
                )
            except ImportRefusedError as error:
                raise CommandError(str(error)) from error
        labels = f", and {record.labels} votes, ratings and annotations" if record.labels else ""
        self.stdout.write(f"Imported {record.conversations} conversations with {record.turns} turns{labels}.")

    def _say(
        self, seen: Preview, format_key: str, systems: dict[str, str], *, scripted_opening: bool
    ) -> None:
        left_out = sum(seen.labels_left_out(systems, scripted_opening=scripted_opening).values())
        labels = f", {seen.labels - left_out} votes, ratings and annotations" if seen.labels else ""
        self.stdout.write(f"{format_key}: {seen.conversations} conversations, {seen.turns} turns{labels}.")
        for speaker, turns in seen.speakers.items():
            self.stdout.write(f"  {speaker}: {turns} turns, {systems[speaker] or 'a person'}")
        if left_out:
            self.stdout.write(f"  {left_out} labels left out: of turns of people, or of a scripted opening")
        for problem in seen.problems:
            self.stderr.write(f"line {problem.line}: {problem.what}")
        if seen.problem_count > len(seen.problems):
            self.stderr.write(f"… and {seen.problem_count - len(seen.problems)} more problems.")


def _guessed(opened: BinaryIO, file: Path) -> str:
    try:
        if key := format_of(opened):
            return key
        found = described(head_of(opened))
    except PackedFileError as error:
        raise CommandError(f"{file}: {error}") from None
    says = " ".join((found.what, *found.near))
    raise CommandError(f"{file} does not look like any known format. {says} Give --format.")


def _columns(given: list[str]) -> dict[str, str]:
    columns = dict(each.split("=", 1) for each in given if "=" in each)
    if len(columns) != len(given) or columns.keys() - {*PARTS}:
        raise CommandError(
            f"--column {given[0]}: write PART=COLUMN with one of the parts {', '.join(PARTS)}."
        )
    return columns


def _named(given: list[str], seen: Preview) -> dict[str, str]:
    named = dict(each.split("=", 1) for each in given if "=" in each)
    unknown = [speaker for speaker in named if speaker not in seen.speakers]
    if unknown or len(named) != len(given):
        wrong = unknown[0] if unknown else next(each for each in given if "=" not in each)
        raise CommandError(
            f"--system {wrong}: write SPEAKER=TITLE with one of the speakers {', '.join(seen.speakers)}."
        )
    return named
