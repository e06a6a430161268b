"""Command `python -m evaluation plan`: the size of a study for the smallest difference to detect."""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.files.reading import FileError, number, read_table
from evaluation.planning.power import Allocation, Components, Design
from evaluation.planning.study_plans import Goal, components, study_plan
from evaluation.statistics.inference import samples
from evaluation.statistics.interval import Undefined

KINDS = ("conversations", "judging", "pairs")
_SHARES = ("worker", "worker_by_system", "context", "context_by_system")


def plan(options: argparse.Namespace) -> dict[str, Any]:
    """Plan a study from typed variances, or from the labels of an earlier study."""
    try:
        variances = _components(options)
        allocation = Allocation.PREFERENCE if options.kind == "pairs" else Allocation(options.allocation)
        design = Design(
            options.per_worker, options.raters, options.systems, allocation,
            options.kind == "judging" and not options.separate_contexts,
            options.correlation, options.judged_only,
        )  # fmt: skip
        goal = Goal(
            options.difference, options.most, options.power, options.confidence, options.minutes, options.pay
        )
        if options.kind == "conversations" and options.raters != 1:
            raise ValueError("--raters is for judging; in conversations each has one worker.")
        return {**study_plan(goal, variances, design).to_json(), "variances": asdict(variances)}
    except ValueError as error:
        raise FileError(str(error)) from None


def _components(options: argparse.Namespace) -> Components:
    """Variances in squared points."""
    if options.labels and options.deviation is not None:
        raise FileError("Give --deviation or --labels, not both: each of them is the plan's variance.")
    if options.labels:
        return _from_labels(options)
    if options.deviation is None:
        raise FileError(
            "A plan needs variance: give --deviation POINTS, or --labels FILE.csv of an earlier study."
        )
    shares = {name: getattr(options, f"{name}_share") for name in _SHARES}
    return Components.from_shares(options.deviation, **shares)


def _from_labels(options: argparse.Namespace) -> Components:
    if not options.value:
        raise FileError("--labels needs --value COLUMN, such as --value sensible --value specific.")
    table = read_table(options.labels, [options.system, options.cluster, options.rater, *options.value])
    values = np.mean([table.converted(name, number) for name in options.value], axis=0) * options.factor
    columns = (table.columns[name] for name in (options.system, options.cluster, options.rater))
    system, cluster, rater = columns
    found = components(samples(system, values, cluster, rater))
    if isinstance(found, Undefined):
        raise FileError(f"{options.labels}: {found.reason}")
    return found


def add_parser(commands: Any) -> None:
    """Add the command to a parser.

    Args:
        commands: what `ArgumentParser.add_subparsers` returns.
    """
    about = "Conversations or items, workers, hours and money for the smallest difference to detect."
    command = commands.add_parser("plan", help=about, description=about)
    add = command.add_argument
    add("--kind", choices=KINDS, default="conversations", help="default: conversations")
    add("--difference", type=float, required=True, help="smallest difference to detect, in points")
    add("--most", type=float, default=100.0, help="largest possible difference, in points; default: 100")
    add("--power", type=float, default=0.8, help="probability to detect it; default: 0.8")
    add("--confidence", type=float, default=0.95, help="level of the intervals; default: 0.95")
    add("--systems", type=int, default=2, help="number of systems; default: 2")
    add("--per-worker", type=int, default=1, help="conversations or judgments of each worker; default: 1")
    add("--raters", type=int, default=1, help="raters of each item of a system; default: 1")
    add(
        "--allocation",
        choices=[each.value for each in Allocation if each is not Allocation.PREFERENCE],
        default=Allocation.RANDOM.value,
        help="systems that a worker has; default: random",
    )
    add("--separate-contexts", action="store_true", help="each system has its own contexts")
    add(
        "--deviation", type=float, help="standard deviation of a conversation's or a label's score, in points"
    )
    for name in _SHARES:
        words = name.replace("_", " ")
        about = f"share of the variance that {words} explains, 0 to 1; default: 0"
        add(f"--{name.replace('_', '-')}-share", type=float, default=0.0, metavar="SHARE", help=about)
    add("--labels", type=Path, metavar="FILE.csv", help="labels of an earlier study, for the variances")
    for name, column in (("system", "bot"), ("cluster", "dialogue"), ("rater", "rater")):
        add(f"--{name}", default=column, help=f"column of --labels; default: {column}")
    add("--value", action="append", default=[], help="column of --labels with a number; repeated: their mean")
    add("--factor", type=float, default=100.0, help="points of a value of 1 in --labels; default: 100")
    add("--correlation", type=float, default=0.0, help="of a judge's labels with people's, -1 to 1")
    add(
        "--judged-only",
        type=float,
        default=0.0,
        help="items that only the judge labels, for each of people's",
    )
    add("--minutes", type=float, default=0.0, help="working time of a conversation or judgment")
    add("--pay", type=float, default=0.0, help="pay of an hour")
    command.set_defaults(run=plan)
