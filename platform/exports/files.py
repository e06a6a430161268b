"""A table of a bundle as JSON Lines, CSV and Parquet."""

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pyarrow
import pyarrow.parquet

from evaluation.report.columns import Kind, Table
from evaluation.spreadsheets import csv_text
from exports.rows import Value

Batches: TypeAlias = Iterable[list[Sequence[Value]]]
Write: TypeAlias = Callable[[io.RawIOBase, Table, Batches], None]

_ARROW = {
    Kind.TEXT: pyarrow.string(),
    Kind.INTEGER: pyarrow.int64(),
    Kind.NUMBER: pyarrow.float64(),
    Kind.BOOLEAN: pyarrow.bool_(),
    Kind.TIME: pyarrow.timestamp("us", tz="UTC"),
}


def write_jsonl(file: io.RawIOBase, table: Table, batches: Batches) -> None:
    names = [column.name for column in table.columns]
    for batch in batches:
        objects = (dict(zip(names, map(_plain, row), strict=True)) for row in batch)
        file.write("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects).encode())


def write_csv(file: io.RawIOBase, table: Table, batches: Batches) -> None:
    file.write(csv_text([[column.name for column in table.columns]]).encode())
    for batch in batches:
        file.write(csv_text([[_plain(value) for value in row] for row in batch]).encode())


def write_parquet(file: io.RawIOBase, table: Table, batches: Batches) -> None:
    schema = pyarrow.schema(
        [
            pyarrow.field(column.name, _ARROW[column.kind], metadata={"meaning": column.meaning})
            for column in table.columns
        ]
    )
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        for batch in batches:
            columns = [list(values) for values in zip(*batch, strict=True)]
            writer.write_table(pyarrow.table(columns, schema=schema))


def _plain(value: Value) -> Value:
    """A time in UTC to the microsecond, always of the same length; anything else as it is."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return value


FORMATS: Mapping[str, tuple[str, Write]] = {
    "jsonl": ("application/jsonl", write_jsonl),
    "csv": ("text/csv", write_csv),
    "parquet": ("application/vnd.apache.parquet", write_parquet),
}


def schema_of(table: Table) -> dict[str, Any]:
    """The columns as a Frictionless Table Schema."""
    fields = [
        {"name": column.name, "type": column.kind.value, "description": column.meaning}
        for column in table.columns
    ]
    return {"fields": fields, "missingValues": [""]}
