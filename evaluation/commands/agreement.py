"""Command `python -m evaluation agreement FILE.csv`: agreement of raters about one question."""

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.commands.input_output import group_of_units, interval_to_json, located, to_json
from evaluation.files.reading import (
    FileError,
    Table,
    alike_spellings,
    folded,
    missing_value_codes,
    number,
    number_from_zero,
    read_table,
)
from evaluation.rater_agreement.coefficients import percent_pooled
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.rater_agreement.reliability import alpha, further_coefficients
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, LabelsError

MOST_LISTED = 50
"""Most distinct ratings that are counted one by one."""


def agreement(options: argparse.Namespace) -> dict[str, Any]:
    """Compute the agreement about one question from a file with one row per rating."""
    names = {"unit": options.unit, "rater": options.rater, "value": options.value}
    columns = [*names.values(), *([options.cluster] if options.cluster else [])]
    table = read_table(options.file, columns, may_be_empty=[options.value] if "" in options.missing else [])
    metric = Metric(options.level)
    rated, merged = _answers(table, options, metric)
    values: Sequence[Any] = rated.columns[options.value]
    if metric is not Metric.NOMINAL:
        values = rated.converted(options.value, number_from_zero if metric is Metric.RATIO else number)
    try:
        ratings = Ratings.from_columns(rated.columns[options.unit], rated.columns[options.rater], values)
    except LabelsError as error:
        raise located(error, rated, names) from None
    result = alpha(ratings, metric, clusters=_clusters(options, rated))
    nouns = Nouns(cluster="cluster" if options.cluster else "unit", rater="rater")
    counted = ratings.is_pairable
    return {
        "units": int(np.count_nonzero(counted)),
        "units_with_one_rating": ratings.units - int(np.count_nonzero(counted)),
        "raters": ratings.raters,
        "labels": int(np.count_nonzero(counted[ratings.unit])),
        "missing": len(table.lines) - len(rated.lines),
        "ratings": _categories(ratings),
        **merged,
        "percent_agreement": to_json(percent_pooled(ratings)),
        "level": metric.value,
        "krippendorff_alpha": to_json(result if isinstance(result, Undefined) else result.value),
        **interval_to_json(result, nouns),
        **{key: to_json(value) for key, value in further_coefficients(ratings, metric).items()},
    }


def _answers(table: Table, options: argparse.Namespace, metric: Metric) -> tuple[Table, dict[str, Any]]:
    """Rows with an answer, spelt alike with --fold-case, and then which spellings were merged."""
    column, missing, real = options.value, set(options.missing), set(options.real)
    if options.fold_case:
        spellings = {each: folded(each) for each in set(table.columns[column])}
        missing, real = (
            {each for each, text in spellings.items() if text in set(map(folded, declared))}
            for declared in (missing, real)
        )
    rated = table.without(column, sorted(missing))
    _ask_about_codes(rated, column, real)
    groups = alike_spellings(rated.columns[column]) if metric is Metric.NOMINAL else []
    if not groups or options.keep_case:
        return rated, {}
    if not options.fold_case:
        _ask_about_spellings(rated, column, groups[0])
    spelt = {each: group[0] for group in groups for each in group}
    answers = [spelt.get(each, each) for each in rated.columns[column]]
    merged = {group[0]: group[1:] for group in groups}
    return replace(rated, columns={**rated.columns, column: answers}), {"spelt_differently": merged}


def _ask_about_codes(table: Table, column: str, real: set[str]) -> None:
    """Refuse values that look like codes for a missing answer, unless they are declared as answers."""
    values = table.columns[column]
    codes = [code for code in missing_value_codes(values) if code not in real]
    if codes:
        line = table.lines[values.index(codes[0])]
        listed = ", ".join(f"'{code}' ({values.count(code)} times)" for code in codes)
        raise FileError(
            f"{table.path}, line {line}, column {column}: {listed} may stand for no answer. Say what it is: "
            f"--missing '{codes[0]}' leaves such rows out, --real '{codes[0]}' counts it as an answer."
        )


def _ask_about_spellings(table: Table, column: str, group: Sequence[str]) -> None:
    """Refuse answers that differ only in case or blanks, until it is declared what they are."""
    counts = Counter(table.columns[column])
    line = table.lines[table.columns[column].index(group[1])]
    listed = " and ".join(f"'{each}' ({counts[each]} times)" for each in group)
    raise FileError(
        f"{table.path}, line {line}, column {column}: {listed} differ only in case or blanks. Say what they "
        f"are: --fold-case counts them as one answer, --keep-case as different ones."
    )


def _clusters(options: argparse.Namespace, table: Table) -> AnyArray | None:
    """Cluster of each unit, in the order of the units; None without a cluster column."""
    if not options.cluster:
        return None
    names, of_unit = group_of_units(table, options.unit, options.cluster)
    clusters: AnyArray = names[of_unit]
    return clusters


def _categories(ratings: Ratings) -> dict[str, Any]:
    """Count each rating; with many distinct ratings, give their number and their ends instead."""
    names = ratings.values.tolist()
    if len(names) > MOST_LISTED:
        return {"distinct": len(names), "lowest": names[0], "highest": names[-1]}
    counts = np.bincount(ratings.value, minlength=len(names)).tolist()
    return {
        f"{name:g}" if isinstance(name, float) else name: n for name, n in zip(names, counts, strict=True)
    }


def add_parser(commands: Any) -> None:
    """Add the command to a parser.

    Args:
        commands: what `ArgumentParser.add_subparsers` returns.
    """
    about = (
        "Percent agreement (pooled, 0 to 1), Krippendorff's alpha with its 95\u00a0% interval, and beside it "
        "Gwet's AC1 of names or the intraclass correlation of numbers."
    )
    command = commands.add_parser("agreement", help=about.replace("%", "%%"), description=about)
    add = command.add_argument
    add("file", type=Path, metavar="FILE.csv", help="UTF-8, with a header line")
    add("--unit", required=True, help="column that names what was rated")
    add("--rater", required=True, help="column that names who rated")
    add("--value", required=True, help="column with the rating")
    add("--level", choices=[m.value for m in Metric], default="nominal", help="default: nominal")
    add("--cluster", help="column with the cluster of a unit, such as the conversation of a turn")
    for option, meaning in (
        ("--missing", "stands for no answer: such rows are left out"),
        ("--real", "is an answer"),
    ):
        about = f"this value {meaning}; '' is an empty cell; may be repeated"
        add(option, action="append", default=[], metavar="VALUE", help=about)
    spelling = command.add_mutually_exclusive_group()
    for option, meaning in (("--fold-case", "one answer"), ("--keep-case", "different answers")):
        about = f"answers that differ only in case or blanks, such as Yes and yes, are {meaning}"
        spelling.add_argument(option, action="store_true", help=about)
    command.set_defaults(run=agreement)
