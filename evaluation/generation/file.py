"""Reading generated responses from a file."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.csv_file import FileError
from evaluation.rows_file import read_rows

EXAMPLE = (
    '{"system": "TF", "conversation": "t_1", "response": "I like jazz.", "reference": "I love jazz!", '
    '"log_likelihood": -21.5, "tokens": 5, "unknown": 0}'
)


@dataclass(frozen=True, slots=True)
class Generated:
    """One response of a system.

    Attributes:
        conversation: what it is part of; responses of different conversations are independent.
        response: what was generated; None if only the likelihood is known.
        references: what was really said; empty if not told.
        log_likelihood: of the reference's tokens, its end among them, in nats; None if not told.
        tokens: how many these are; None exactly if `log_likelihood` is.
        unknown: how many of them the system's vocabulary lacks; None if not told.
    """

    conversation: str
    response: str | None
    references: tuple[str, ...]
    log_likelihood: float | None
    tokens: int | None
    unknown: int | None


def read_generated(path: Path) -> dict[str, list[Generated]]:
    """The responses of a file, by system, in the order of the file.

    Args:
        path: JSON Lines if it ends in `.jsonl`, else CSV with a header; fields as in `EXAMPLE`. Without a
            system all are of one; without a conversation each row is one by itself.

    Raises:
        FileError: it cannot be read, is empty, or a field has no usable value; names line and field.
    """
    found: dict[str, list[Generated]] = {}
    for number, (where, row) in enumerate(read_rows(path)):
        given = {key: value for key, value in row.items() if value is not None and value != ""}
        system = _text(where, given, "system") or "the system"
        conversation = _text(where, given, "conversation") or f"row {number}"
        found.setdefault(system, []).append(_generated(where, row, given, conversation))
    if not found:
        raise FileError(f"{path}: no responses. A line is such as {EXAMPLE}")
    return found


def _generated(where: str, row: Mapping[str, Any], given: Mapping[str, Any], conversation: str) -> Generated:
    references = _references(where, given)
    likelihood, tokens = _number(where, given, "log_likelihood"), _count(where, given, "tokens", least=1)
    unknown = _count(where, given, "unknown", least=0)
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
    # An empty response is a response, which a cell of JSON tells from none; an empty cell of CSV is one, too.
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
    found = ([] if one is None else [one]) + list(several)
    for each in found:
        if not isinstance(each, str):
            raise FileError(f"{where}: references has {json.dumps(each)[:80]}, which is not text.")
    return tuple(found)


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
