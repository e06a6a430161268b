"""Command `python -m evaluation pairs FILE.csv`: wins, losses, ties and strengths from pairwise judgments."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.files.reading import FileError, read_table
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import LabelsError, coded
from evaluation.statistics.pairwise import OUTCOMES, Duels, Record, Strengths, bradley_terry, records


def pairs(options: argparse.Namespace) -> dict[str, Any]:
    """Compute the results of every two systems, and Bradley-Terry strengths, from one row per judgment."""
    names = {"first": options.first, "second": options.second, "outcome": options.outcome}
    beside = [column for column in (options.cluster, options.rater) if column]
    empty = [options.outcome] if "" in options.missing else []
    table = read_table(options.file, [*names.values(), *beside], may_be_empty=empty)
    given = table.without(options.outcome, options.missing)
    columns = [given.columns[name] for name in names.values()]
    cluster = given.columns[options.cluster] if options.cluster else list(map(str, given.lines))
    try:
        duels = Duels.from_rows(zip(*columns, cluster, strict=True))
    except LabelsError as error:
        line = "" if error.row is None else f", line {given.lines[error.row]}"
        column = names.get(error.column, error.column)
        raise FileError(f"{given.path}{line}, column {column}: {error.problem}") from None
    if options.rater:
        duels = replace(duels, rater=coded(given.columns[options.rater])[1])
    return {
        "judgments": len(duels),
        "missing": len(table.lines) - len(given.lines),
        "records": [_record(each) for each in records(duels)],
        "strengths": _strengths(bradley_terry(duels)),
    }


def _record(record: Record) -> dict[str, Any]:
    return {
        "first": str(record.bot),
        "second": str(record.opponent),
        **{
            kind: {"number": number, "interval_of_share": _interval(share)}
            for kind, number, share in (
                ("wins", record.wins, record.win_share),
                ("losses", record.losses, record.loss_share),
                ("ties", record.ties, record.tie_share),
            )
        },
    }


def _strengths(found: Strengths | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"cannot_be_told": found.reason}
    tie = found.tie_tendency
    return {
        "systems": {
            str(name): {"log_strength": value, "interval": _interval(found.intervals[name])}
            for name, value in sorted(found.strength.items(), key=lambda each: -each[1])
        },
        "tie_tendency": {"cannot_be_told": tie.reason} if isinstance(tie, Undefined) else tie,
        "interval_level": found.level,
        "interval_for": found.describe_interval(Nouns(cluster="item", rater="rater")),
    }


def _interval(found: Interval | Undefined) -> list[float] | dict[str, str]:
    if isinstance(found, Undefined):
        return {"cannot_be_told": found.reason}
    return [found.low, found.high]


def add_parser(commands: Any) -> None:
    """Add the command to a parser.

    Args:
        commands: what `ArgumentParser.add_subparsers` returns.
    """
    about = (
        "Wins, losses and ties of every two systems with intervals of their shares, and Bradley-Terry "
        f"strengths, from one line for each judgment. Outcomes: {', '.join(OUTCOMES)}."
    )
    command = commands.add_parser("pairs", help=about, description=about)
    add = command.add_argument
    add("file", type=Path, metavar="FILE.csv", help="UTF-8, with a header line")
    for option, meaning in (
        ("first", "names one system"),
        ("second", "names the other system"),
        ("outcome", "says which is better: first, second or tie"),
    ):
        add(f"--{option}", default=option, help=f"column that {meaning}; default: {option}")
    add("--cluster", help="column with the context or item; default: each judgment is one")
    add("--rater", help="column that names the rater")
    meaning = "this outcome stands for no answer ('' is an empty cell); may be repeated"
    add("--missing", action="append", default=[], metavar="VALUE", help=meaning)
    command.set_defaults(run=pairs)
