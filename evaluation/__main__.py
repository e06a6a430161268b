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

from evaluation.commands import agreement as of_agreement
from evaluation.commands import assisted as of_judges
from evaluation.commands import assisted_pairs as of_judged_pairs
from evaluation.commands import conversation as of_conversations
from evaluation.commands import generation as of_responses
from evaluation.commands import pairs as of_pairs
from evaluation.commands import plan as of_plans
from evaluation.commands import raters as of_raters
from evaluation.commands.input_output import interval_to_json, located, times, to_json
from evaluation.commands.intent import figures as intent_figures
from evaluation.commands.intent import read_predictions
from evaluation.files.reading import (
    FileError,
    Table,
    boolean,
    read_table,
    whole_number,
)
from evaluation.report.bundles import recomputation
from evaluation.report.label_columns import Analysis
from evaluation.statistics.bootstrap import RESAMPLES
from evaluation.statistics.differences import Difference, differences
from evaluation.statistics.effect_sizes import EffectSize
from evaluation.statistics.inference import NOUNS, Sample, mean
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import Labels, LabelsError
from evaluation.statistics.mixed_models.fitting import OddsRatio
from evaluation.statistics.mixed_models.logistic import odds_ratios
from evaluation.statistics.ssa import Unit, score_samples
from evaluation.statistics.ssa import ssa as ssa_scores

OF_CONVERSATIONS, COMPLETE = ("dialogue_ending", "in_primary_analysis"), "complete"
SSA_COLUMNS = ("bot", "dialogue", "turn", "rater", "sensible", "specific")


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
    if "equal" in answer:
        print(_verdict(answer), file=sys.stderr)  # below hundreds of lines, where a person looks
    return 0 if answer.get("equal", True) else 1


def _verdict(recomputed: dict[str, Any]) -> str:
    """Sentence that says whether a bundle's report follows from its data."""
    if recomputed["equal"]:
        return f"Equal: all {recomputed['values']:,} values of the bundle's report follow from its data."
    counts = (
        f"{len(recomputed['differences']):,} values differ",
        f"{len(recomputed['not_computed']):,} are not computed by this version",
        f"{len(recomputed['changed_files']):,} files have changed since the bundle was made",
    )
    found = ", ".join(each for each in counts if not each.startswith("0 "))
    return f"Not equal: {found}. The output above names them."


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
        raise located(error, table, {}) from None
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
    return {"odds_ratio": ratio.ratio, "interval": to_json(ratio.interval), "p": ratio.p}


def _estimate(sample: Sample) -> dict[str, Any]:
    """One score in percent with its interval."""
    estimate = mean(sample)
    assert not isinstance(estimate, Undefined)
    return {"percent": 100 * estimate.value, **interval_to_json(estimate, NOUNS, factor=100)}


def _difference(difference: Difference, margin: float | None) -> dict[str, Any]:
    """One difference in points with its interval, p-values, sentence, and margin of equivalence."""
    within = difference.equal_within
    stated = {} if margin is None else {"p_equivalence": to_json(difference.equivalence(margin))}
    return {
        "first": str(difference.first),
        "second": str(difference.second),
        "points": 100 * difference.difference,
        "interval": to_json(times(difference.interval, 100)),
        "p": to_json(difference.p),
        "p_holm": to_json(difference.p_holm),
        **_effect_size("odds_ratio", difference.odds_ratio),
        **_effect_size("cohens_d", difference.effect),
        "equal_within": to_json(within if isinstance(within, Undefined) else 100 * within),
        **stated,
        "in_words": difference.sentence(),
        "basis": difference.describe_basis(),
    }


def _effect_size(name: str, size: EffectSize | Undefined) -> dict[str, Any]:
    """An effect size and its interval, under `name` and `name_interval`."""
    if isinstance(size, Undefined):
        return {name: to_json(size)}
    return {name: size.value, f"{name}_interval": to_json(size.interval)}


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
    of_agreement.add_parser(commands)
    of_labels = _add_ssa(commands)
    _add_recompute(commands)
    of_intents = _add_intent(commands)
    of_conversations.add_parsers(commands)
    of_responses.add_parser(commands)
    of_judges.add_parser(commands)
    of_judged_pairs.add_parser(commands)
    of_pairs.add_parser(commands)
    of_plans.add_parser(commands)
    of_raters.add_parser(commands)
    for command in (of_labels, of_intents):
        command.add_argument("file", type=Path, metavar="FILE.csv", help="UTF-8, with a header line")
    return parser


def _command(commands: Any, name: str, about: str) -> argparse.ArgumentParser:
    """Add a command with its description; only the short help has %-formats, so % is doubled there."""
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=about.replace("%", "%%"), description=about
    )
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


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(
            signal.SIGPIPE, signal.SIG_DFL
        )  # end quietly if the reader, such as `head`, closes the pipe
    sys.exit(main())
