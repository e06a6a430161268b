"""A bundle's table as Parquet. Import this late: PyArrow starts a thread when it is loaded."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pyarrow
import pyarrow.parquet

from evaluation.report.bundles.columns import Kind, Table
from turnwise.exports.rows import BatchWriter

_TYPES = {
    Kind.TEXT: pyarrow.string(),
    Kind.INTEGER: pyarrow.int64(),
    Kind.NUMBER: pyarrow.float64(),
    Kind.BOOLEAN: pyarrow.bool_(),
    Kind.TIME: pyarrow.timestamp("us", tz="UTC"),
}


@contextmanager
def writing(file: IO[bytes], table: Table) -> Iterator[BatchWriter]:
    schema = pyarrow.schema(
        [
            pyarrow.field(column.name, _TYPES[column.kind], metadata={"meaning": column.meaning})
            for column in table.columns
        ]
    )
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        yield lambda batch: writer.write_table(
            pyarrow.table([list(values) for values in zip(*batch, strict=True)], schema=schema)
        )
