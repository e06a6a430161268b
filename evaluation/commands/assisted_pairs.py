"""Command `python -m evaluation assisted-pairs PEOPLE.csv JUDGE.csv`: strengths from people and a judge."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.assisted.estimates import AssistedEstimate
from evaluation.assisted.pairs import AssistedPairs, assisted_win_shares
from evaluation.assisted.strengths import AssistedStrengths, assisted_strengths
from evaluation.commands.assisted import estimate_to_json, power, probability
from evaluation.commands.input_output import group_of_units, located
from evaluation.commands.pairs import SIDES, duels_of
from evaluation.files.reading import FileError, Table, read_table
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, FloatArray, IntArray, LabelsError, coded
from evaluation.statistics.pairwise import Duels


@dataclass(frozen=True, eq=False)
class _Judged:
    """The pairs of the judge's file.

    Attributes:
        names: (N,) name of each pair, rising.
        bots: (b,) names of the systems, rising.
        sides: (N, 2) codes of both systems of each pair, the smaller first.
        shares: (N, 3) shares of the judge's answers for the system with the smaller code, for the other, and
            for a tie, over all its lines about the pair; NaN if it gave none.
        line: (N,) first line of each pair in the file.
    """

    names: AnyArray
    bots: AnyArray
    sides: IntArray
    shares: FloatArray
    line: IntArray


def assisted_pairs(options: argparse.Namespace) -> dict[str, Any]:
    """Estimate strengths and shares of wins from people's judgments of pairs and a judge's."""
    empty = [options.outcome] if "" in options.missing else []
    needed = [options.item, options.first, options.second, options.outcome]
    beside = [column for column in (options.cluster, options.probability) if column]
    judge = read_table(options.judge, [*needed, *beside], may_be_empty=empty)
    raters = [options.rater] if options.rater else []
    table = read_table(options.people, [*needed, *raters], may_be_empty=empty)
    people = table.without(options.outcome, options.missing)
    judged = _judged(options, judge)
    pairs = _pairs(options, people, judge, judged)
    nouns = Nouns(cluster=options.cluster or "item", rater="rater")
    return {
        "pairs": len(judged.names),
        "people_judgments": len(people.lines),
        "people_missing": len(table.lines) - len(people.lines),
        "judge_missing": int(np.isnan(judged.shares[:, 0]).sum()),
        "strengths": _strengths(assisted_strengths(pairs, power=options.power), nouns),
        "wins": _wins(assisted_win_shares(pairs, power=options.power, nouns=nouns), nouns),
    }


def _judged(options: argparse.Namespace, table: Table) -> _Judged:
    """Collect the judge's lines by pair: one for each answer, in whichever order of the sides."""
    outcome = table.columns[options.outcome]
    is_given = np.array([each not in options.missing for each in outcome])
    filled = [each if given else "tie" for each, given in zip(outcome, is_given, strict=True)]
    duels = duels_of(options, Table(table.path, table.lines, {**table.columns, options.outcome: filled}))
    names, item = coded(table.columns[options.item])
    first = np.unique(item, return_index=True)[1]
    sides = _sides_of(duels)
    _refuse_other_sides(options, table, duels, sides[first][item], np.asarray(table.lines)[first][item])
    counts = np.zeros((len(names), 3))
    np.add.at(counts, (item[is_given], duels.result[is_given]), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
    _refuse_constant(table, sides[first], shares)
    return _Judged(names, duels.bots, sides[first], shares, np.asarray(table.lines)[first])


def _pairs(options: argparse.Namespace, people: Table, judge: Table, judged: _Judged) -> AssistedPairs:
    """Join people's judgments with the judge's pairs."""
    row_of = {name: row for row, name in enumerate(judged.names.tolist())}
    for line, name in zip(people.lines, people.columns[options.item], strict=True):
        if name not in row_of:
            raise FileError(
                f"{people.path}, line {line}, column {options.item}: {judge.path} has no item '{name}'. List "
                f"every pair there; if the judge gave no answer, with an outcome that --missing names."
            )
    item = np.array([row_of[each] for each in people.columns[options.item]], dtype=np.int64)
    duels = duels_of(options, people)
    code_of = {name: code for code, name in enumerate(judged.bots.tolist())}
    codes = np.array([code_of.get(name, -1) for name in duels.bots.tolist()], dtype=np.int64)
    expected = judged.sides[item]
    wrong = np.flatnonzero((codes[_sides_of(duels)] != expected).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        named = " and ".join(f"'{judged.bots[code]}'" for code in expected[row])
        raise FileError(
            f"{people.path}, line {people.lines[row]}, columns {options.first} and {options.second}: item "
            f"'{people.columns[options.item][row]}' is of {named} in {judge.path}, line "
            f"{judged.line[item[row]]}. {_CURE}"
        )
    rater = coded(people.columns[options.rater])[1] if options.rater else None
    try:
        return AssistedPairs(
            judged.bots, judged.sides[:, 0], judged.sides[:, 1], _clusters(options, judge), judged.shares,
            item, duels.result, rater, _probabilities(options, judge),
        )  # fmt: skip
    except LabelsError as error:
        raise located(error, people, {"rater": options.rater or ""}) from None


def _sides_of(duels: Duels) -> IntArray:
    """(n, 2) codes of both systems of each judgment, the smaller first."""
    return np.sort(np.column_stack([duels.first, duels.second]), axis=1)


_CURE = "Give each pair of two systems an item of its own."


def _refuse_other_sides(
    options: argparse.Namespace, table: Table, duels: Duels, expected: IntArray, lines: IntArray
) -> None:
    """Refuse an item with two systems in one line and others in another.

    Args:
        options: names of the columns.
        table: the judge's file.
        duels: its rows.
        expected: (n, 2) sides of the first line of each row's item.
        lines: (n,) that line.
    """
    wrong = np.flatnonzero((_sides_of(duels) != expected).any(axis=1))
    if wrong.size:
        row = int(wrong[0])
        here, there = (
            " and ".join(f"'{name}'" for name in duels.bots[codes].tolist())
            for codes in (_sides_of(duels)[row], expected[row])
        )
        raise FileError(
            f"{table.path}, line {table.lines[row]}, columns {options.first} and {options.second}: item "
            f"'{table.columns[options.item][row]}' is of {here} here, but of {there} in line {lines[row]}. "
            f"{_CURE}"
        )


def _refuse_constant(table: Table, sides: IntArray, shares: FloatArray) -> None:
    """Refuse a judge that says the same about all pairs of the same two systems, or nothing."""
    given = ~np.isnan(shares[:, 0])
    if not given.any():
        raise FileError(f"{table.path}: the judge gave no answer about any pair.")
    answers = np.unique(np.column_stack([sides[given], shares[given]]), axis=0)
    if len(answers) == len(np.unique(sides[given], axis=0)):
        raise FileError(
            f"{table.path}: the judge says the same about all pairs of the same two systems, so it tells "
            f"nothing about the pairs. Check the file, or use people's judgments alone: python -m evaluation "
            f"pairs."
        )


def _clusters(options: argparse.Namespace, judge: Table) -> IntArray:
    """(N,) code of the cluster of each pair; without a column, each pair is one."""
    if not options.cluster:
        return np.arange(len(set(judge.columns[options.item])))
    return group_of_units(judge, options.item, options.cluster)[1]


def _probabilities(options: argparse.Namespace, judge: Table) -> FloatArray | None:
    """(N,) probability with which each pair was drawn for people; None without a column."""
    if not options.probability:
        return None
    judge.converted(options.probability, probability)
    relation = ("has the probability", "has")
    names, code = group_of_units(judge, options.item, options.probability, relation=relation)
    found: FloatArray = np.array([float(name) for name in names.tolist()])[code]
    return found


def _strengths(found: AssistedStrengths | Undefined, nouns: Nouns) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"cannot_be_told": found.reason}
    return {
        "systems": {
            name: estimate_to_json(each, nouns)
            for name, each in sorted(found.strength.items(), key=lambda each: -each[1].value)
        },
        "differences": [
            {"first": first, "second": second, **estimate_to_json(each, nouns)}
            for first, second, each in found.differences
        ],
    }


def _wins(found: Mapping[str, AssistedEstimate | Undefined], nouns: Nouns) -> dict[str, Any]:
    return {name: estimate_to_json(each, nouns) for name, each in found.items()}


def add_parser(commands: Any) -> None:
    """Add the command to a parser.

    Args:
        commands: what `ArgumentParser.add_subparsers` returns.
    """
    about = (
        "Bradley-Terry strengths, their differences and shares of wins from people's judgments of some pairs "
        "and a machine judge's of all pairs, beside people's alone, with what the judge was worth. People's "
        "pairs must have been drawn at random."
    )
    command = commands.add_parser("assisted-pairs", help=about, description=about)
    add = command.add_argument
    add("people", type=Path, metavar="PEOPLE.csv", help="one line for each judgment of a person")
    meaning = "one line for each answer of the judge; a pair judged in both orders of its sides has two lines"
    add("judge", type=Path, metavar="JUDGE.csv", help=meaning)
    add("--item", default="item", help="column of both files that names the pair; default: item")
    for option, meaning in SIDES:
        add(f"--{option}", default=option, help=f"column of both files that {meaning}; default: {option}")
    add("--rater", help="column of PEOPLE.csv that names the rater")
    meaning = "column of JUDGE.csv with the context or conversation of the pair; default: each pair is one"
    add("--cluster", help=meaning)
    meaning = "column of JUDGE.csv with the probability with which the pair was drawn for people"
    add("--probability", help=meaning)
    add("--power", type=power, help="how far to follow the judge, 0 to 1; default: what is best")
    meaning = "this outcome stands for no answer ('' is an empty cell); may be repeated"
    add("--missing", action="append", default=[], metavar="VALUE", help=meaning)
    command.set_defaults(run=assisted_pairs)
