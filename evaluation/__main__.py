"""Statistics on the command line: `python -m evaluation agreement …`, `… ssa …` or `… recompute …`."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.agreement import Metric, alpha_interval, krippendorff_alpha, percent_pooled
from evaluation.bootstrap import RESAMPLES
from evaluation.csv_file import FileError, Table, boolean, number, number_from_zero, read_table, whole_number
from evaluation.estimates import estimates
from evaluation.interval import Interval, Undefined
from evaluation.labels import Labels, LabelsError
from evaluation.ratings import Ratings
from evaluation.report import bundle
from evaluation.ssa import Unit

SSA_COLUMNS = ("bot", "dialogue", "turn", "rater", "sensible", "specific")
FEWEST_RESAMPLES, MOST_RESAMPLES = 100, 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and print its JSON.

    Returns:
        0; 1 if a recomputed report is not the one of its bundle; 2 if the input is wrong, which is then said.
    """
    options = _parser().parse_args(arguments)
    try:
        answer = options.run(options)
    except FileError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(answer, indent=2, ensure_ascii=False, allow_nan=False))
    return 0 if answer.get("equal", True) else 1


def agreement(options: argparse.Namespace) -> dict[str, Any]:
    """Agreement of one question from a file with one row per rating."""
    metric = Metric(options.level)
    table = read_table(options.file, [options.unit, options.rater, options.value])
    values: Sequence[Any] = table.columns[options.value]
    if metric is not Metric.NOMINAL:
        values = table.converted(options.value, number_from_zero if metric is Metric.RATIO else number)
    names = {"unit": options.unit, "rater": options.rater, "value": options.value}
    try:
        ratings = Ratings.from_columns(table.columns[options.unit], table.columns[options.rater], values)
    except LabelsError as error:
        raise _located(error, table, names) from None
    rng = np.random.default_rng(options.seed)
    return {
        "units": ratings.units,
        "raters": ratings.raters,
        "labels": len(ratings),
        "percent_agreement": _shown(percent_pooled(ratings)),
        "krippendorff_alpha": _shown(krippendorff_alpha(ratings, metric)),
        "interval": _shown(alpha_interval(ratings, rng, metric, resamples=options.resamples)),
    }


def ssa(options: argparse.Namespace) -> dict[str, Any]:
    """SSA per bot, in percent, from a file with one row per label."""
    table = read_table(options.file, SSA_COLUMNS)
    columns: dict[str, list[Any]] = dict(table.columns)
    columns["turn"] = table.converted("turn", whole_number)
    for name in ("sensible", "specific"):
        columns[name] = table.converted(name, boolean)
    try:
        labels = Labels(*(np.asarray(columns[name]) for name in SSA_COLUMNS))
    except LabelsError as error:
        raise _located(error, table, {}) from None
    rng = np.random.default_rng(options.seed)
    found = estimates(labels, rng, unit=Unit(options.count), resamples=options.resamples)
    return {
        str(bot): {
            "sensibleness": 100 * estimate.score.sensibleness,
            "specificity": 100 * estimate.score.specificity,
            "ssa": 100 * estimate.score.ssa,
            "interval": _shown(_percent(estimate.ssa)),
            "turns": estimate.score.turns,
            "dialogues": estimate.score.dialogues,
            "raters": estimate.score.raters,
        }
        for bot, estimate in found.items()
    }


def recompute(options: argparse.Namespace) -> dict[str, Any]:
    """Every number of a study's report from the data of its bundle, and whether it is the bundle's own."""
    found = bundle.recompute(options.file)
    return {
        "equal": not found.differences and not found.changed_files,
        "values": found.values,
        "differences": [asdict(each) for each in found.differences],
        "changed_files": found.changed_files,
        "libraries": found.libraries,
        "report": found.report,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    about = "Percent agreement (pooled, 0 to 1) and Krippendorff's alpha with its interval over units."
    one = commands.add_parser("agreement", help=about, description=about)
    one.add_argument("--unit", required=True, help="column that names what was rated")
    one.add_argument("--rater", required=True, help="column that names who rated")
    one.add_argument("--value", required=True, help="column with the rating")
    one.add_argument("--level", choices=[m.value for m in Metric], default="nominal", help="default: nominal")
    one.set_defaults(run=agreement)

    about = f"SSA per bot in percent with its interval over dialogues. Columns: {', '.join(SSA_COLUMNS)}."
    two = commands.add_parser("ssa", help=about, description=about)
    two.add_argument(
        "--count", choices=[u.value for u in Unit], default="label", help="what counts once; default: label"
    )
    two.set_defaults(run=ssa)

    about = "The report of a study's bundle again, from its data alone; ends with 1 if it is not the same."
    three = commands.add_parser("recompute", help=about, description=about)
    three.add_argument("file", type=Path, metavar="BUNDLE.zip", help="as downloaded from the report's page")
    three.set_defaults(run=recompute)

    for command in (one, two):
        command.add_argument("file", type=Path, metavar="FILE.csv", help="UTF-8, with a header line")
        command.add_argument("--seed", type=_seed, default=0, help="of the bootstrap; default: 0")
        command.add_argument(
            "--resamples",
            type=_resamples,
            default=RESAMPLES,
            help=f"of the 95 %% interval; default: {RESAMPLES}",
        )
    return parser


def _resamples(text: str) -> int:
    if not text.isdecimal() or not FEWEST_RESAMPLES <= int(text) <= MOST_RESAMPLES:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no number of resamples; use {FEWEST_RESAMPLES} to {MOST_RESAMPLES:,}."
        )
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no seed; use a whole number from 0 upward.")
    return int(text)


def _located(error: LabelsError, table: Table, names: dict[str, str]) -> FileError:
    """The same error with the line of the file instead of the row."""
    column = names.get(error.column, error.column)
    where = "" if error.row is None else f", line {table.lines[error.row]}"
    before = "" if error.earlier is None else f" See line {table.lines[error.earlier]}."
    return FileError(f"{table.path}{where}, column {column}: {error.problem}{before}")


def _percent(interval: Interval | Undefined) -> Interval | Undefined:
    return interval if isinstance(interval, Undefined) else interval.scaled(100)


def _shown(value: float | Interval | Undefined) -> float | list[float] | dict[str, str]:
    """JSON of a result: a number, [low, high], or {"cannot_be_told": reason}."""
    if isinstance(value, Undefined):
        return {"cannot_be_told": value.reason}
    return [value.low, value.high] if isinstance(value, Interval) else value


if __name__ == "__main__":
    sys.exit(main())
