"""Command `python -m evaluation pairs FILE.csv`: wins, losses, ties and strengths from pairwise judgments."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.commands.input_output import located, to_json
from evaluation.files.reading import FileError, Table, number_from_zero, read_table
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import LabelsError, coded
from evaluation.statistics.pairwise import OUTCOMES, Duels, Record, Strengths, bradley_terry, records
from evaluation.statistics.style_adjusted import StyleAdjusted, style_adjusted
from evaluation.texts.markdown_style import Style, style_of

BOTH_BAD = "both_bad"
"""Outcome of a judgment that neither system did well: a tie in the strengths, counted by itself."""
SIDES = (
    ("first", "names one system"),
    ("second", "names the other system"),
    ("outcome", "says which is better: first, second, tie or both_bad"),
)
"""Columns of a judgment, which are options as well, with what each does."""


def pairs(options: argparse.Namespace) -> dict[str, Any]:
    """Compute the results of every two systems, and Bradley-Terry strengths, from one row per judgment."""
    names = [options.first, options.second, options.outcome]
    beside = [column for column in (options.cluster, options.rater, *(options.text or ())) if column]
    beside += [column for _, *columns in options.amount for column in columns]
    empty = [*([options.outcome] if "" in options.missing else ()), *(options.text or ())]
    table = read_table(options.file, [*names, *beside], may_be_empty=empty)
    given = table.without(options.outcome, options.missing)
    duels = duels_of(options, given)
    if options.cluster:
        duels = replace(duels, cluster=coded(given.columns[options.cluster])[1])
    if options.rater:
        duels = replace(duels, rater=coded(given.columns[options.rater])[1])
    return {
        "judgments": len(duels),
        "missing": len(table.lines) - len(given.lines),
        "both_bad": given.columns[options.outcome].count(BOTH_BAD),
        "records": [_record(each) for each in records(duels)],
        "strengths": _strengths(bradley_terry(duels)),
        **_style(options, given, duels),
    }


def duels_of(options: argparse.Namespace, table: Table) -> Duels:
    """Read judgments, one a row and each a cluster by itself; of `both_bad`, a tie.

    Args:
        options: with `first`, `second` and `outcome`, names of the columns.
        table: the file.

    Raises:
        FileError: an unknown outcome, or a system against itself; names the line and the column.
    """
    first, second, outcome = (table.columns[getattr(options, name)] for name, _ in SIDES)
    ties = ["tie" if each == BOTH_BAD else each for each in outcome]
    try:
        return Duels.from_rows(zip(first, second, ties, table.lines, strict=True))
    except LabelsError as error:
        raise located(error, table, {name: getattr(options, name) for name, _ in SIDES}) from None


def _style(options: argparse.Namespace, table: Table, duels: Duels) -> dict[str, Any]:
    """Strengths adjusted for style, if columns say what both sides look like; else nothing."""
    names: list[str] = []
    sides: tuple[list[list[float]], list[list[float]]] = [], []
    if options.text:
        names += Style._fields
        for side, column in zip(sides, options.text, strict=True):
            side += map(list, zip(*(style_of([text]) for text in table.columns[column]), strict=True))
    for name, *columns in options.amount:
        names.append(name)
        for side, column in zip(sides, columns, strict=True):
            side.append(table.converted(column, number_from_zero))
    if not names:
        return {}
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise FileError(f"Two elements of style are called '{twice}'. Give one of them another NAME.")
    first, second = (np.array(side, dtype=np.float64).T.reshape(len(duels), len(names)) for side in sides)
    return {"adjusted_for_style": _adjusted(style_adjusted(duels, first, second, names))}


def _adjusted(found: StyleAdjusted | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"cannot_be_told": found.reason}
    effects = {
        each.element: {
            "coefficient": each.coefficient,
            "interval": to_json(each.interval),
            "usual_difference": each.typical,
            "share_of_choices": each.share,
            "interval_of_share": to_json(each.share_interval),
        }
        for each in found.effects
    }
    return _strengths(found.strengths) | {"effects": effects, "never_differs": found.equal}


def _record(record: Record) -> dict[str, Any]:
    return {
        "first": str(record.bot),
        "second": str(record.opponent),
        **{
            kind: {"number": number, "interval_of_share": to_json(share)}
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
    return {
        "systems": {
            str(name): {"log_strength": value, "interval": to_json(found.intervals[name])}
            for name, value in sorted(found.strength.items(), key=lambda each: -each[1])
        },
        "tie_tendency": to_json(found.tie_tendency),
        "interval_level": found.level,
        "interval_for": found.describe_interval(Nouns(cluster="item", rater="rater")),
    }


def add_parser(commands: Any) -> None:
    """Add the command to a parser.

    Args:
        commands: what `ArgumentParser.add_subparsers` returns.
    """
    about = (
        "Wins, losses and ties of every two systems with intervals of their shares, and Bradley-Terry "
        f"strengths, also adjusted for style, from one line for each judgment. Outcomes: "
        f"{', '.join(OUTCOMES)}, and {BOTH_BAD}, which counts as a tie and by itself."
    )
    command = commands.add_parser("pairs", help=about, description=about)
    add = command.add_argument
    add("file", type=Path, metavar="FILE.csv", help="UTF-8, with a header line")
    for option, meaning in SIDES:
        add(f"--{option}", default=option, help=f"column that {meaning}; default: {option}")
    add("--cluster", help="column with the context or item; default: each judgment is one")
    add("--rater", help="column that names the rater")
    meaning = "this outcome stands for no answer ('' is an empty cell); may be repeated"
    add("--missing", action="append", default=[], metavar="VALUE", help=meaning)
    meaning = "columns with what both systems said: adjusts strengths for length, headers, lists and bold"
    add("--text", nargs=2, metavar=("FIRST", "SECOND"), help=meaning)
    meaning = "columns with numbers from 0 up, such as tokens, to adjust strengths for; may be repeated"
    add("--amount", nargs=3, action="append", default=[], metavar=("NAME", "FIRST", "SECOND"), help=meaning)
    command.set_defaults(run=pairs)
