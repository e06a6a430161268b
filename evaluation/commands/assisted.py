"""Command `python -m evaluation assisted PEOPLE.csv JUDGE.csv`: one estimate from people and a judge."""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.assisted.estimates import AssistedEstimate, assisted_difference, assisted_mean
from evaluation.assisted.samples import AssistedSample
from evaluation.files.reading import FileError, Table, number, read_table
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray, LabelsError, coded

_WORDS = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


@dataclass(frozen=True, eq=False)
class _Files:
    """Both files, with the row of the judge's file for each of people's labels."""

    people: Table
    judge: Table
    item: IntArray
    value: FloatArray
    judged: FloatArray


def assisted(options: argparse.Namespace) -> dict[str, Any]:
    """Estimate the mean of each system, and every difference, from people's labels and a judge's."""
    if not options.low < options.high:
        raise FileError(f"--low {options.low:g} must be below --high {options.high:g}.")
    files = _read(options)
    samples = _samples(options, files)
    nouns = Nouns(cluster=options.cluster or "item", rater="rater")
    ends = {"low": options.low, "high": options.high, "power": options.power, "nouns": nouns}
    return {
        "systems": {
            name: _system_to_json(assisted_mean(each, **ends), each, nouns) for name, each in samples.items()
        },
        "differences": [
            {
                "first": a,
                "second": b,
                **estimate_to_json(assisted_difference(samples[a], samples[b], **ends), nouns),
            }
            for a, b in combinations(samples, 2)
        ],
    }


def _read(options: argparse.Namespace) -> _Files:
    """Read both files and check each of their labels."""
    empty = [options.value] if "" in options.missing else []
    beside = [options.cluster, options.system, options.stratum, options.probability]
    needed = [options.item, options.value, *filter(None, beside)]
    judge = read_table(options.judge, needed, [options.worker] if options.worker else [], may_be_empty=empty)
    if options.worker and options.worker not in judge.columns:
        raise FileError(f"{judge.path}, line 1: there is no column {options.worker}.")
    raters = [options.rater] if options.rater else []
    people = read_table(options.people, [options.item, options.value, *raters], may_be_empty=empty)
    people = people.without(options.value, options.missing)
    row_of: dict[str, int] = {}
    for row, item in enumerate(judge.columns[options.item]):
        if item in row_of:
            raise FileError(
                f"{judge.path}, line {judge.lines[row]}, column {options.item}: item '{item}' has a label in "
                f"line {judge.lines[row_of[item]]} already. Give each item one line."
            )
        row_of[item] = row
    for line, item in zip(people.lines, people.columns[options.item], strict=True):
        if item not in row_of:
            raise FileError(
                f"{people.path}, line {line}, column {options.item}: {judge.path} has no item '{item}'. List "
                f"every item there; if the judge gave none, with a value that --missing names."
            )
    rows = np.array([row_of[item] for item in people.columns[options.item]], dtype=np.int64)
    label = _label(options.low, options.high)
    judged = judge.converted(
        options.value, lambda text: float("nan") if text in options.missing else label(text)
    )
    return _Files(people, judge, rows, np.array(people.converted(options.value, label)), np.array(judged))


def _label(low: float, high: float) -> Callable[[str], float]:
    """Parser of labels on this scale; on 0 to 1, yes, true, no and false are labels as well."""

    def parse(text: str) -> float:
        word = _WORDS.get(text.casefold()) if (low, high) == (0, 1) else None
        value = number(text) if word is None else word
        if not low <= value <= high:
            raise ValueError(
                f"'{text}' is outside the scale from {low:g} to {high:g}. Give the scale with --low and "
                f"--high, or name the value with --missing if it stands for no answer."
            )
        return value

    return parse


def _samples(options: argparse.Namespace, files: _Files) -> dict[str, AssistedSample]:
    """One sample for each system, with common codes of clusters and raters."""
    judge, people = files.judge, files.people
    size = len(judge.lines)
    cluster = coded(judge.columns[options.cluster])[1] if options.cluster else np.arange(size)
    systems = np.asarray(judge.columns[options.system] if options.system else ["all"] * size, dtype=object)
    stratum = coded(judge.columns[options.stratum])[1] if options.stratum else None
    chance = np.array(judge.converted(options.probability, probability)) if options.probability else None
    rater, worker = _raters(options, files)
    found = {}
    for name in sorted(set(systems.tolist())):
        items = systems == name
        labels = items[files.item]
        _refuse_constant(judge, files.judged[items], name if options.system else "")
        new_row = np.cumsum(items) - 1
        try:
            found[name] = AssistedSample(
                cluster[items], files.judged[items], new_row[files.item[labels]], files.value[labels],
                _some(rater, labels), _some(worker, items), _some(stratum, items), _some(chance, items),
            )  # fmt: skip
        except LabelsError as error:
            lines = np.asarray(people.lines)[labels]
            where = "" if error.row is None else f", line {lines[error.row]}"
            before = "" if error.earlier is None else f" See line {lines[error.earlier]}."
            raise FileError(f"{people.path}{where}: {error.problem}{before}") from None
    return found


def _raters(options: argparse.Namespace, files: _Files) -> tuple[IntArray | None, IntArray | None]:
    """Codes of the raters of labels and of the workers of items, -1 where no worker is named."""
    if not options.rater:
        return None, None
    raters = files.people.columns[options.rater]
    if not options.worker:
        return coded(raters)[1], None
    workers = files.judge.columns[options.worker]
    codes = coded([*raters, *workers])[1]
    return codes[: len(raters)], np.where(np.asarray(workers) == "", -1, codes[len(raters) :])


def _some(column: AnyArray | None, rows: BoolArray) -> AnyArray | None:
    return None if column is None else column[rows]


def probability(text: str) -> float:
    """Parse the probability of an item's draw, above 0 and at most 1."""
    value = number(text)
    if not 0 < value <= 1:
        raise ValueError(
            f"'{text}' is not above 0 and at most 1. Items that could not be drawn do not belong in the file."
        )
    return value


def _refuse_constant(judge: Table, judged: FloatArray, system: str) -> None:
    """Refuse a judge that gives every item of a system the same label, or none."""
    given = judged[~np.isnan(judged)]
    of = f" of {system}" if system else ""
    if not given.size:
        raise FileError(f"{judge.path}: the judge gave no item{of} a label.")
    if np.ptp(given) == 0:
        raise FileError(
            f"{judge.path}: all {given.size} labels of the judge{of} are {given[0]:g}, so it tells nothing "
            f"about the items. Check the file, or use people's labels alone."
        )


def _system_to_json(
    found: AssistedEstimate | Undefined, sample: AssistedSample, nouns: Nouns
) -> dict[str, Any]:
    """One system's estimate, with the numbers of its labels."""
    missing = int(np.count_nonzero(~sample.is_judged))
    return {
        "items": len(sample),
        "people_labels": len(sample.value),
        "judge_missing": missing,
        **estimate_to_json(found, nouns),
    }


def estimate_to_json(found: AssistedEstimate | Undefined, nouns: Nouns) -> dict[str, Any]:
    """Estimate beside people's alone, and what the judge was worth, with these nouns."""
    if isinstance(found, Undefined):
        return {"estimate": {"cannot_be_told": found.reason}}
    return {
        "estimate": found.value,
        "interval": _ends(found.interval),
        "people_alone": {"estimate": found.people_value, "interval": _ends(found.people_interval)},
        "items_of_people": found.items,
        "items_of_judge_alone": found.pool,
        "worth": found.worth,
        "as_if_people_had_labelled": found.effective_items,
        "power": list(found.power),
        **({} if found.p is None else {"p": found.p if isinstance(found.p, float) else _reason(found.p)}),
        "p_items_drawn_alike": (
            found.drawn_alike if isinstance(found.drawn_alike, float) else _reason(found.drawn_alike)
        ),
        "in_words": found.sentence(nouns),
    }


def _ends(interval: Interval | Undefined) -> list[float] | dict[str, str]:
    return _reason(interval) if isinstance(interval, Undefined) else [interval.low, interval.high]


def _reason(found: Undefined) -> dict[str, str]:
    return {"cannot_be_told": found.reason}


def power(text: str) -> float:
    """Parse λ, from 0 to 1."""
    found = float(text)
    if not 0 <= found <= 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not between 0 and 1.")
    return found


def add_parser(commands: Any) -> None:
    """Add the command to a parser.

    Args:
        commands: what `ArgumentParser.add_subparsers` returns.
    """
    about = (
        "One estimate from people's labels of some items and a machine judge's labels of all items, beside "
        "people's alone, in the unit of the labels; differences between systems. People's items must have "
        "been drawn at random."
    )
    command = commands.add_parser("assisted", help=about, description=about)
    add = command.add_argument
    add("people", type=Path, metavar="PEOPLE.csv", help="one line for each label of a person")
    add("judge", type=Path, metavar="JUDGE.csv", help="one line for each item, with the judge's label")
    add("--item", default="item", help="column of both files that names the item; default: item")
    add("--value", default="value", help="column of both files with the label; default: value")
    add("--rater", help="column of PEOPLE.csv that names the rater")
    for option, meaning in _COLUMNS:
        add(option, help=f"column of JUDGE.csv {meaning}")
    add("--low", type=float, default=0.0, help="lower end of the scale; default: 0")
    add("--high", type=float, default=1.0, help="upper end of the scale; default: 1")
    add("--power", type=power, help="how far to follow the judge, 0 to 1; default: what is best")
    meaning = "this value stands for no answer ('' is an empty cell); may be repeated"
    add("--missing", action="append", default=[], metavar="VALUE", help=meaning)
    command.set_defaults(run=assisted)


_COLUMNS: Sequence[tuple[str, str]] = (
    ("--cluster", "with the conversation or context of the item; default: each item is one"),
    ("--system", "with the chatbot of the item; adds every difference"),
    ("--stratum", "with the stratum from which people's items were drawn"),
    ("--probability", "with the probability with which the item was drawn for people"),
    ("--worker", "with the worker who had the conversation, as named in --rater"),
)
