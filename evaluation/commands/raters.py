"""Command `python -m evaluation raters FILE.csv`: models of raters who err to different degrees."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.commands.input_output import group_of_units, located, to_json
from evaluation.files.reading import Table, read_table
from evaluation.rater_agreement.rater_models import (
    ACCURACY,
    COMPETENCE,
    Estimates,
    ModelledLabels,
    fitted_models,
)
from evaluation.rater_agreement.ratings import Ratings
from evaluation.report.figures import SEED
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import IntArray, LabelsError, coded

ASSUMES = (
    "Each item has one true answer, and raters err independently of each other once it is known. An error "
    "that most raters share is taken for the truth."
)


def raters(options: argparse.Namespace) -> dict[str, Any]:
    """Fit both models to answers without order, from a file with one row per rating."""
    names = {"unit": options.unit, "rater": options.rater, "value": options.value}
    columns = [*names.values(), *filter(None, (options.system, options.cluster))]
    table = read_table(options.file, columns, may_be_empty=[options.value] if "" in options.missing else [])
    rated = table.without(options.value, options.missing)
    try:
        ratings = Ratings.from_columns(*(rated.columns[name] for name in names.values()))
    except LabelsError as error:
        raise located(error, rated, names) from None
    systems, of_unit = _systems(options, rated)
    clusters = _clusters(options, rated)
    labels_of_units = ModelledLabels(ratings, of_unit, np.ones(ratings.units), clusters)
    found = fitted_models(labels_of_units, np.random.default_rng(SEED))
    counted = {"items": ratings.units, "raters": ratings.raters, "labels": len(ratings)}
    if isinstance(found, Undefined):
        return counted | {"models": {"cannot_be_told": found.reason}}
    answers, rater_names = ratings.values.tolist(), coded(rated.columns[options.rater])[0].tolist()
    labels = np.bincount(ratings.rater).tolist()
    return {
        **counted,
        "krippendorff_alpha": found.alpha,
        "converged": found.converged,
        "assumes": ASSUMES,
        "interval_level": LEVEL,
        "interval_for": found.no_errors or f"other {options.cluster or options.unit}s with the same raters",
        "shares": {
            model: {
                system: {answer: _estimate(shares, row, column) for column, answer in enumerate(answers)}
                for row, system in enumerate(systems)
            }
            for model, shares in found.shares.items()
        },
        "by_rater": {
            name: {
                "labels": labels[row],
                ACCURACY: _estimate(found.accuracy, row),
                COMPETENCE: _estimate(found.competence, row),
            }
            for row, name in enumerate(rater_names)
        },
    }


def _estimate(estimates: Estimates, *at: int) -> dict[str, Any]:
    return {"estimate": float(estimates.values[at]), "interval": to_json(estimates.interval(*at))}


def _clusters(options: argparse.Namespace, table: Table) -> IntArray:
    """(units,) code of the cluster of each unit; without a column, each unit is one."""
    if not options.cluster:
        return np.arange(len(set(table.columns[options.unit])))
    return group_of_units(table, options.unit, options.cluster)[1]


def _systems(options: argparse.Namespace, table: Table) -> tuple[list[str], IntArray]:
    """Names of the systems, and the system of each unit; one without a column of systems."""
    if not options.system:
        return ["all"], np.zeros(len(set(table.columns[options.unit])), np.int64)
    cure = " Give each system's items names of their own."
    names, of_unit = group_of_units(table, options.unit, options.system, relation=("is of", "of"), cure=cure)
    return names.tolist(), of_unit


def add_parser(commands: Any) -> None:
    """Add the command to a parser.

    Args:
        commands: what `ArgumentParser.add_subparsers` returns.
    """
    about = (
        "True answers and errors of raters by two models, Dawid and Skene's and MACE, from one line for each "
        f"rating with an answer without order. {ASSUMES}"
    )
    command = commands.add_parser("raters", help=about, description=about)
    add = command.add_argument
    add("file", type=Path, metavar="FILE.csv", help="UTF-8, with a header line")
    add("--unit", required=True, help="column that names what was rated")
    add("--rater", required=True, help="column that names who rated")
    add("--value", required=True, help="column with the answer")
    add("--system", help="column that names the system of a unit; each has its own share of answers")
    add("--cluster", help="column with the conversation or context of a unit; default: each unit is one")
    missing = "this value stands for no answer: such rows are left out; may be repeated"
    add("--missing", action="append", default=[], metavar="VALUE", help=missing)
    command.set_defaults(run=raters)
