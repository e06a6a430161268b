"""A table of a bundle as JSON Lines, CSV and Parquet, written batch by batch."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any, TypeAlias

import orjson

from evaluation.report.columns import Kind, Table
from evaluation.spreadsheets import csv_text
from turnwise.exports.rows import Value

Batch: TypeAlias = list[Sequence[Value]]
Take: TypeAlias = Callable[[Batch], object]
"""Writes a batch of rows."""


@contextmanager
def _jsonl(file: IO[bytes], table: Table) -> Iterator[Take]:
    names = [column.name for column in table.columns]
    objects = orjson.OPT_APPEND_NEWLINE
    yield lambda batch: file.writelines(
        orjson.dumps(dict(zip(names, row, strict=True)), option=objects) for row in batch
    )


@contextmanager
def _csv(file: IO[bytes], table: Table) -> Iterator[Take]:
    file.write(csv_text([[column.name for column in table.columns]]).encode())
    yield lambda batch: file.write(csv_text(batch).encode())


def _parquet(file: IO[bytes], table: Table) -> AbstractContextManager[Take]:
    from turnwise.exports.parquet import writing  # which says why it is not loaded before

    return writing(file, table)


def plain(batch: Batch, table: Table) -> Batch:
    """The same rows for files of text: times are in UTC to the microsecond, always of the same length."""
    times = [index for index, column in enumerate(table.columns) if column.kind is Kind.TIME]
    return [_with_times_as_text(row, times) for row in batch] if times else batch


def _with_times_as_text(row: Sequence[Value], times: Sequence[int]) -> Sequence[Value]:
    values = list(row)
    for index in times:
        at = values[index]
        if isinstance(at, datetime):
            values[index] = at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    return values


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of file.

    Attributes:
        mediatype: its IANA type.
        writing: from an open file and its table to what writes the rows; they are all there at its end.
        packed: whether the file is compressed as it is.
        typed: whether it takes rows as they are; else as `plain` gives them.
    """

    mediatype: str
    writing: Callable[[IO[bytes], Table], AbstractContextManager[Take]]
    packed: bool = False
    typed: bool = False


FORMATS: Mapping[str, Format] = {
    "jsonl": Format("application/jsonl", _jsonl),
    "csv": Format("text/csv", _csv),
    "parquet": Format("application/vnd.apache.parquet", _parquet, packed=True, typed=True),
}


def schema_of(table: Table) -> dict[str, Any]:
    """The columns as a Frictionless Table Schema."""
    fields = [
        {"name": column.name, "type": column.kind.value, "description": column.meaning}
        for column in table.columns
    ]
    return {"fields": fields, "missingValues": [""]}
