"""Statistics on the command line: `python -m evaluation agreement | ssa | conversation | hybrid | …`."""

import argparse
import json
import signal
import sys
from collections.abc import Hashable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.commands import assisted as of_judges
from evaluation.commands import conversation as of_conversations
from evaluation.commands import generation as of_responses
from evaluation.commands import pairs as of_pairs
from evaluation.commands import plan as of_plans
from evaluation.commands.intent import figures as intent_figures
from evaluation.commands.intent import read_predictions
from evaluation.files.reading import (
    FileError,
    Table,
    boolean,
    missing_value_codes,
    number,
    number_from_zero,
    read_table,
    whole_number,
)
from evaluation.rater_agreement.coefficients import percent_pooled
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.rater_agreement.reliability import Alpha, alpha, further_coefficients
from evaluation.report.bundles import recomputation
from evaluation.report.label_columns import Analysis
from evaluation.statistics.bootstrap import RESAMPLES
from evaluation.statistics.differences import Difference, differences
from evaluation.statistics.inference import NOUNS, Estimate, Nouns, Sample, mean
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import AnyArray, Labels, LabelsError, coded
from evaluation.statistics.mixed_model import OddsRatio, odds_ratios
from evaluation.statistics.ssa import Unit, score_samples
from evaluation.statistics.ssa import ssa as ssa_scores

OF_CONVERSATIONS, COMPLETE = ("dialogue_ending", "in_primary_analysis"), "complete"
SSA_COLUMNS = ("bot", "dialogue", "turn", "rater", "sensible", "specific")
MOST_LISTED = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and print its JSON.

    Returns:
        0; 1 if a recomputed report differs from its bundle's; 2 if the input is wrong (with a message).
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
    """Compute the agreement about one question from a file with one row per rating."""
    names = {"unit": options.unit, "rater": options.rater, "value": options.value}
    columns = [*names.values(), *([options.cluster] if options.cluster else [])]
    table = read_table(options.file, columns, may_be_empty=[options.value] if "" in options.missing else [])
    rated = table.without(options.value, options.missing)
    _ask_about_codes(rated, options.value, options.real)
    metric = Metric(options.level)
    values: Sequence[Any] = rated.columns[options.value]
    if metric is not Metric.NOMINAL:
        values = rated.converted(options.value, number_from_zero if metric is Metric.RATIO else number)
    try:
        ratings = Ratings.from_columns(rated.columns[options.unit], rated.columns[options.rater], values)
    except LabelsError as error:
        raise _located(error, rated, names) from None
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
        "percent_agreement": _to_json(percent_pooled(ratings)),
        "level": metric.value,
        "krippendorff_alpha": _to_json(result if isinstance(result, Undefined) else result.value),
        **_interval(result, nouns),
        **{key: _to_json(value) for key, value in further_coefficients(ratings, metric).items()},
    }


def _ask_about_codes(table: Table, column: str, real: Sequence[str]) -> None:
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


def _clusters(options: argparse.Namespace, table: Table) -> AnyArray | None:
    """Cluster of each unit, in the order of the units; None without a cluster column."""
    if not options.cluster:
        return None
    names, codes = coded(table.columns[options.unit])
    clusters = np.asarray(table.columns[options.cluster])
    _, first = np.unique(codes, return_index=True)
    of_unit: AnyArray = clusters[first]
    differs = np.flatnonzero(of_unit[codes] != clusters)
    if differs.size:
        row = int(differs[0])
        raise FileError(
            f"{table.path}, line {table.lines[row]}, column {options.cluster}: unit '{names[codes[row]]}' "
            f"belongs to '{clusters[row]}' here, but to '{of_unit[codes[row]]}' in line "
            f"{table.lines[first[codes[row]]]}."
        )
    return of_unit


def _categories(ratings: Ratings) -> dict[str, Any]:
    """Count each rating; with many distinct ratings, give their number and their ends instead."""
    names = ratings.values.tolist()
    if len(names) > MOST_LISTED:
        return {"distinct": len(names), "lowest": names[0], "highest": names[-1]}
    counts = np.bincount(ratings.value, minlength=len(names)).tolist()
    return {
        f"{name:g}" if isinstance(name, float) else name: n for name, n in zip(names, counts, strict=True)
    }


def ssa(options: argparse.Namespace) -> dict[str, Any]:
    """Compute SSA per bot, in percent, and all differences, from a file with one row per label."""
    if options.primary and not options.excluded:
        raise FileError("--primary needs --excluded COLUMN, which says whose labels are left out.")
    names = [*SSA_COLUMNS, *([options.excluded] if options.excluded else [])]
    table, unfinished = _finished(read_table(options.file, names, may_lack=OF_CONVERSATIONS))
    columns: dict[str, Any] = {name: table.columns[name] for name in SSA_COLUMNS}
    columns["turn"] = table.converted("turn", whole_number)
    for name in ("sensible", "specific"):
        columns[name] = table.converted(name, boolean)
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    try:
        labels = Labels(**arrays)
    except LabelsError as error:
        raise _located(error, table, {}) from None
    unit = Unit(options.count)
    margin = None if options.margin is None else options.margin / 100
    counted = {"count": unit.value, **unfinished}
    if not options.excluded:
        return {**counted, **_ssa_of(labels, unit, margin)}
    included = ~np.asarray(table.converted(options.excluded, boolean))
    others = Labels(**{name: values[included] for name, values in arrays.items()})
    figures = {
        Analysis.ALL: _ssa_of(labels, unit, margin),
        Analysis.WITHOUT_EXCLUDED: _ssa_of(others, unit, margin),
    }
    primary = Analysis(options.primary or Analysis.ALL)
    other = {"analysis": primary.other.value, **figures[primary.other]}
    return {**counted, "primary": primary.value, **figures[primary], "other": other}


def _finished(table: Table) -> tuple[Table, dict[str, int]]:
    """Keep the labels that the platform's reports count, and count the other labels.

    Applies to the platform's labels of conversations. Judgments of items and all other files stay unchanged.
    """
    if not set(OF_CONVERSATIONS) <= table.columns.keys():
        return table, {}
    endings = table.columns[OF_CONVERSATIONS[0]]
    counts = table.converted(OF_CONVERSATIONS[1], boolean)
    if any(ending != COMPLETE for ending, is_counted in zip(endings, counts, strict=True) if is_counted):
        return table, {}
    if COMPLETE not in endings:
        raise FileError(f"{table.path}, column dialogue_ending: no conversation is complete, so none counts.")
    others = sorted(set(endings) - {COMPLETE})
    unfinished = len(endings) - endings.count(COMPLETE)
    return table.without("dialogue_ending", others), {"labels_of_unfinished_conversations": unfinished}


def _ssa_of(labels: Labels, unit: Unit, margin: float | None) -> dict[str, Any]:
    """Scores and differences of these labels."""
    scores = score_samples(labels, unit)
    of_bots = {
        str(bot): {"turns": score.turns, "dialogues": score.dialogues, "raters": score.raters}
        | {key: _estimate(of_bots[bot]) for key, of_bots in scores.items()}
        for bot, score in ssa_scores(labels, unit).items()
    }
    compared = {key: _differences(of, margin) for key, of in scores.items()}
    return {"bots": of_bots, "differences": compared if len(of_bots) > 1 else {}}


def _differences(of_systems: dict[Hashable, Sample], margin: float | None) -> list[dict[str, Any]]:
    """Every pair by one score, with the odds ratio of the mixed model."""
    pairs = differences(of_systems)
    ratios = odds_ratios(of_systems, pairs)
    return [
        _difference(each, margin) | {"mixed_model": _mixed(ratio)}
        for each, ratio in zip(pairs, ratios, strict=True)
    ]


def _mixed(ratio: OddsRatio | Undefined) -> dict[str, Any]:
    """The odds ratio of two bots for the same worker and conversation or context."""
    if isinstance(ratio, Undefined):
        return {"cannot_be_told": ratio.reason}
    return {"odds_ratio": ratio.ratio, "interval": _to_json(ratio.interval), "p": ratio.p}


def _estimate(sample: Sample) -> dict[str, Any]:
    """One score in percent with its interval."""
    estimate = mean(sample)
    assert not isinstance(estimate, Undefined)
    return {"percent": 100 * estimate.value, **_interval(estimate, NOUNS, factor=100)}


def _difference(difference: Difference, margin: float | None) -> dict[str, Any]:
    """One difference in points with its interval, p-values, sentence, and margin of equivalence."""
    within = difference.equal_within
    stated = {} if margin is None else {"p_equivalence": _to_json(difference.equivalence(margin))}
    return {
        "first": str(difference.first),
        "second": str(difference.second),
        "points": 100 * difference.difference,
        "interval": _to_json(_times(difference.interval, 100)),
        "p": _to_json(difference.p),
        "p_holm": _to_json(difference.p_holm),
        "odds_ratio": _to_json(difference.odds_ratio),
        "equal_within": _to_json(within if isinstance(within, Undefined) else 100 * within),
        **stated,
        "in_words": difference.sentence(),
        "basis": difference.describe_basis(),
    }


def _interval(estimate: Alpha | Estimate | Undefined, nouns: Nouns, factor: float = 1.0) -> dict[str, Any]:
    """The interval with its level, its method, and a sentence on what it generalises to."""
    interval = estimate if isinstance(estimate, Undefined) else estimate.interval
    if isinstance(estimate, Undefined) or isinstance(interval, Undefined):
        return {"interval": _to_json(interval)}
    return {
        "interval": _to_json(_times(interval, factor)),
        "interval_level": interval.level,
        "interval_method": interval.method,
        "interval_for": estimate.describe_interval(nouns),
    }


def intent(options: argparse.Namespace) -> dict[str, Any]:
    """Figures of classifiers of the question "am I talking to a machine?", from their predictions."""
    return intent_figures(read_predictions(options.file), np.random.default_rng(0), RESAMPLES)


def recompute(options: argparse.Namespace) -> dict[str, Any]:
    """Recompute a study's report from the data of its bundle and compare it with the bundle's report."""
    result = recomputation.recompute(options.file)
    return {
        "equal": result.equal,
        **asdict(result.comparison),
        "changed_files": result.changed_files,
        "libraries": result.libraries,
        "report": result.report,
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evaluation", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    of_labels = (_add_agreement(commands), _add_ssa(commands))
    _add_recompute(commands)
    of_intents = _add_intent(commands)
    of_conversations.add_parsers(commands)
    of_responses.add_parser(commands)
    of_judges.add_parser(commands)
    of_pairs.add_parser(commands)
    of_plans.add_parser(commands)
    for command in (*of_labels, of_intents):
        command.add_argument("file", type=Path, metavar="FILE.csv", help="UTF-8, with a header line")
    return parser


def _command(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    """Add a command with its description; only the short help has %-formats, so % is doubled there."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=about.replace("%", "%%"), description=about
    )
    return command


def _add_agreement(commands: Any) -> argparse.ArgumentParser:
    about = (
        "Percent agreement (pooled, 0 to 1), Krippendorff's alpha with its 95\u00a0% interval, and beside it "
        "Gwet's AC1 of names or the intraclass correlation of numbers."
    )
    command = _command(commands, "agreement", about)
    add = command.add_argument
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
    command.set_defaults(run=agreement)
    return command


def _add_ssa(commands: Any) -> argparse.ArgumentParser:
    about = (
        "Sensibleness, specificity and SSA per bot in percent with 95\u00a0% intervals, and all differences. "
        f"Columns: {', '.join(SSA_COLUMNS)}."
    )
    command = _command(commands, "ssa", about)
    add = command.add_argument
    add("--count", choices=[u.value for u in Unit], default="label", help="what counts once; default: label")
    add(
        "--margin",
        type=_points,
        metavar="POINTS",
        help="the largest difference that does not matter; adds an equivalence test to each pair",
    )
    add(
        "--excluded",
        metavar="COLUMN",
        help="column that is true for excluded raters, such as rater_excluded of the exports; adds an "
        "analysis without these raters",
    )
    add(
        "--primary",
        choices=[each.value for each in Analysis],
        help="which of the two comes first; default: all",
    )
    command.set_defaults(run=ssa)
    return command


def _points(text: str) -> float:
    """Parse a margin in points, above 0 and at most 100."""
    points = float(text)
    if not 0 < points <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 0 and 100 points.")
    return points


def _add_intent(commands: Any) -> argparse.ArgumentParser:
    about = "Figures of predictions as `python -m chatbots identity predict` writes them."
    command: argparse.ArgumentParser = commands.add_parser("intent", help=about, description=about)
    command.set_defaults(run=intent)
    return command


def _add_recompute(commands: Any) -> None:
    about = "The report of a study's bundle again, from its data alone; ends with 1 if it is not the same."
    command = commands.add_parser("recompute", help=about, description=about)
    command.add_argument("file", type=Path, metavar="BUNDLE.zip", help="as downloaded from the report's page")
    command.set_defaults(run=recompute)


def _located(error: LabelsError, table: Table, names: dict[str, str]) -> FileError:
    """Convert an error about a row to an error about the line of the file."""
    column = names.get(error.column, error.column)
    where = "" if error.row is None else f", line {table.lines[error.row]}"
    before = "" if error.earlier is None else f" See line {table.lines[error.earlier]}."
    return FileError(f"{table.path}{where}, column {column}: {error.problem}{before}")


def _times(interval: Interval | Undefined, factor: float) -> Interval | Undefined:
    return interval if isinstance(interval, Undefined) else interval.scaled(factor)


def _to_json(value: float | Interval | Undefined) -> float | list[float] | dict[str, str]:
    """Convert a result to JSON: a number, [low, high], or {"cannot_be_told": reason}."""
    if isinstance(value, Undefined):
        return {"cannot_be_told": value.reason}
    return [value.low, value.high] if isinstance(value, Interval) else value


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(
            signal.SIGPIPE, signal.SIG_DFL
        )  # end quietly if the reader, such as `head`, closes the pipe
    sys.exit(main())
