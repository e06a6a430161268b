"""Command `python -m evaluation generation FILE`: metrics of generated responses, each with an interval.

Metrics: perplexity, F1 and distinct n-grams. Sources: Gopalakrishnan et al. 2019 (Topical-Chat, Interspeech),
section 6; Li et al. 2016 (arXiv:1510.03055) for distinct n-grams; ParlAI (parlai/core/metrics.py) for F1.
"""

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.commands.input_output import to_json
from evaluation.conversation.ngrams import over_corpus, per_response
from evaluation.files.reading import FileError, read_rows
from evaluation.statistics.differences import differences
from evaluation.statistics.inference import Nouns, Sample, mean, samples
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.texts.similarity import f1

EXAMPLE = (
    '{"system": "TF", "conversation": "t_1", "response": "I like jazz.", "reference": "I love jazz!", '
    '"log_likelihood": -21.5, "tokens": 5, "unknown": 0}'
)


@dataclass(frozen=True, slots=True)
class Generated:
    """One response of a system.

    Attributes:
        conversation: its conversation; responses of different conversations are independent.
        response: the generated text; None if only the likelihood is known.
        references: the real responses; empty if unknown.
        log_likelihood: log-likelihood of the reference's tokens with the end token, in nats; None if unknown.
        tokens: number of these tokens; None exactly if `log_likelihood` is None.
        unknown: number of these tokens outside the system's vocabulary; None if unknown.
    """

    conversation: str
    response: str | None
    references: tuple[str, ...]
    log_likelihood: float | None
    tokens: int | None
    unknown: int | None


def read_generated(path: Path) -> dict[str, list[Generated]]:
    """Read the responses of a file, by system, in the order of the file.

    Args:
        path: JSON Lines if it ends in `.jsonl`, else CSV with a header; fields as in `EXAMPLE`. Rows without
            a system belong to one system; a row without a conversation is a conversation by itself.

    Raises:
        FileError: it cannot be read, is empty, or a field has no usable value; names line and field.
    """
    by_system: dict[str, list[Generated]] = {}
    for number, (where, row) in enumerate(read_rows(path)):
        values = {key: value for key, value in row.items() if value is not None and value != ""}
        system = _text(where, values, "system") or "the system"
        conversation = _text(where, values, "conversation") or f"row {number}"
        by_system.setdefault(system, []).append(_generated(where, row, values, conversation))
    if not by_system:
        raise FileError(f"{path}: no responses. A line is such as {EXAMPLE}")
    return by_system


def _generated(where: str, row: Mapping[str, Any], values: Mapping[str, Any], conversation: str) -> Generated:
    references = _references(where, values)
    likelihood, tokens = _number(where, values, "log_likelihood"), _count(where, values, "tokens", least=1)
    unknown = _count(where, values, "unknown", least=0)
    if (likelihood is None) != (tokens is None):
        raise FileError(f"{where}: log_likelihood and tokens go together. Give both or neither.")
    if likelihood is not None and likelihood > 0:
        raise FileError(
            f"{where}: log_likelihood = {likelihood:g} is above 0, which no probability has. Give the sum of "
            "the tokens' natural logarithms."
        )
    if unknown is not None and (tokens is None or unknown > tokens):
        raise FileError(
            f"{where}: unknown = {unknown}, but there are {tokens or 'no'} tokens. Fix one of them."
        )
    # An empty text is a response. JSON can leave the field out; an empty cell of CSV is an empty text.
    response = _text(where, row, "response")
    if response is None and likelihood is None:
        raise FileError(f"{where}: neither response nor log_likelihood. A line is such as {EXAMPLE}")
    return Generated(conversation, response, references, likelihood, tokens, unknown)


def _text(where: str, row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    if value is None or isinstance(value, str):
        return value
    raise FileError(f"{where}: {name} = {json.dumps(value)[:80]} is not text. Write it in quotation marks.")


def _references(where: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    several: Any = row.get("references", [])
    if not isinstance(several, Sequence) or isinstance(several, str):
        raise FileError(
            f"{where}: references = {json.dumps(several)[:80]} is not a list. Use reference for one."
        )
    one = _text(where, row, "reference")
    references = ([] if one is None else [one]) + list(several)
    for each in references:
        if not isinstance(each, str):
            raise FileError(f"{where}: references has {json.dumps(each)[:80]}, which is not text.")
    return tuple(references)


def _number(where: str, row: Mapping[str, Any], name: str) -> float | None:
    if name not in row:
        return None
    try:
        value = float(row[name])
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value) or isinstance(row[name], bool):
        raise FileError(f"{where}: {name} = {json.dumps(row[name])[:80]} is not a finite number. Give one.")
    return value


def _count(where: str, row: Mapping[str, Any], name: str, *, least: int) -> int | None:
    value = _number(where, row, name)
    if value is None:
        return None
    if value < least or value != int(value) or value > 2**53:
        raise FileError(f"{where}: {name} = {value:g} is not a whole number from {least} up. Give the count.")
    return int(value)


LENGTHS = (1, 2)
NOUNS = Nouns(cluster="conversation", rater="rater")
LARGEST_NATS = 700.0
"""Largest number whose exponential fits in a float."""


def add_parser(commands: Any) -> argparse.ArgumentParser:
    """Add the command."""
    about = (
        "Perplexity, F1 and distinct n-grams of generated responses by system, with 95\u00a0% intervals over "
        "conversations, and the differences in F1."
    )
    parser: argparse.ArgumentParser = commands.add_parser(
        "generation", help=about.replace("%", "%%"), description=about
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="JSON Lines (.jsonl) or CSV of responses")
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals; default: 0.95")
    parser.set_defaults(run=generation)
    return parser


def generation(options: argparse.Namespace) -> dict[str, Any]:
    """Compute all figures of a file of generated responses."""
    if not 0 < options.level < 1:
        raise FileError(f"--level {options.level:g}: give a number between 0 and 1, such as 0.95.")
    return figures(read_generated(options.file), options.level)


def figures(systems: Mapping[str, Sequence[Generated]], level: float = 0.95) -> dict[str, Any]:
    """Compute the figures of each system, and the difference in F1 of every two systems.

    Args:
        systems: responses by system, at least one each.
        level: coverage of the intervals.
    """
    compared = differences(_of_f1(systems), level=level, nouns=NOUNS)
    return {
        "level": level,
        "systems": {name: _of_system(rows, level) for name, rows in systems.items()},
        "f1_differences": [
            {
                "first": each.first,
                "second": each.second,
                "difference": each.difference,
                "interval": to_json(each.interval),
                "p": to_json(each.p),
                "p_holm": to_json(each.p_holm),
            }
            for each in compared
        ],
    }


def perplexity(rows: Sequence[Generated], level: float) -> dict[str, Any]:
    """Perplexity: exp of the mean negative log-likelihood per token, over all rows with a likelihood.

    Its interval is exp of the interval of the mean, in which responses weigh by their tokens.
    """
    scored = [row for row in rows if row.log_likelihood is not None]
    if not scored:
        return _undefined("No row has log_likelihood and tokens.")
    tokens = np.array([row.tokens for row in scored], dtype=np.float64)
    nats = -np.array([row.log_likelihood for row in scored]) / tokens
    estimate = mean(
        Sample(nats, _codes(scored), weight=tokens), low=None, high=None, level=level, nouns=NOUNS
    )
    assert not isinstance(estimate, Undefined)
    counted = {"tokens": int(tokens.sum()), "responses": len(scored)}
    if all(row.unknown is not None for row in scored):
        counted["unknown"] = sum(row.unknown or 0 for row in scored)
    if estimate.value > LARGEST_NATS:
        return {
            **_undefined(f"{estimate.value:g} nats per token are more than a perplexity can show."),
            **counted,
        }
    interval = estimate.interval
    if isinstance(interval, Interval):
        low, high = (math.exp(min(end, LARGEST_NATS)) for end in (max(0.0, interval.low), interval.high))
        interval = Interval(low, high, level, interval.method)
    return {"value": math.exp(estimate.value), "interval": to_json(interval), **counted}


def _of_system(rows: Sequence[Generated], level: float) -> dict[str, Any]:
    answered = [row for row in rows if row.response is not None]
    texts, clusters = [row.response or "" for row in answered], [row.conversation for row in answered]
    distinct: dict[str, Any] = {}
    for n in LENGTHS:
        share, interval = over_corpus(texts, clusters, n, level)
        distinct[f"distinct_{n}"] = {
            "per_response": _mean(answered, per_response(texts, n), level, f"No response has {n} words."),
            "over_corpus": {"value": to_json(share), "interval": to_json(interval)},
        }
    return {
        "responses": len(rows),
        "conversations": len({row.conversation for row in rows}),
        "empty_responses": sum(not text.strip() for text in texts),
        "perplexity": perplexity(rows, level),
        "f1": _mean(answered, _f1_of(answered), level, "No row has both response and reference."),
        **distinct,
    }


def _f1_of(rows: Sequence[Generated]) -> FloatArray:
    """(n,) F1 of each response; NaN without a reference."""
    return np.array(
        [math.nan if row.response is None or not row.references else f1(row.response, row.references)
         for row in rows]
    )  # fmt: skip


def _of_f1(systems: Mapping[str, Sequence[Generated]]) -> dict[Any, Sample]:
    """Samples of F1 by system; conversations with the same name are the same in all systems."""
    rows = [(name, row) for name, of in systems.items() for row in of]
    values = _f1_of([row for _, row in rows])
    return samples([name for name, _ in rows], values, [row.conversation for _, row in rows])


def _mean(rows: Sequence[Generated], values: FloatArray, level: float, none: str) -> dict[str, Any]:
    defined = np.flatnonzero(~np.isnan(values))
    if not defined.size:
        return _undefined(none)
    estimate = mean(
        Sample(values[defined], _codes([rows[row] for row in defined.tolist()])), level=level, nouns=NOUNS
    )
    assert not isinstance(estimate, Undefined)
    return {"value": estimate.value, "interval": to_json(estimate.interval), "responses": int(defined.size)}


def _codes(rows: Sequence[Generated]) -> Any:
    return np.unique([row.conversation for row in rows], return_inverse=True)[1]


def _undefined(reason: str) -> dict[str, Any]:
    return {"value": {"cannot_be_told": reason}, "interval": {"cannot_be_told": reason}}
