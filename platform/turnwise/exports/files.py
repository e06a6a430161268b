"""A table of a bundle as JSON Lines, CSV and Parquet, written batch by batch.

A zip archive written to a stream that cannot be wound back, and a list of its files with their hashes.
"""

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, Any

import orjson
from typing_extensions import override

from evaluation.files.writing import csv_text
from evaluation.report.bundles.columns import Kind, Table
from turnwise.exports.rows import Batch, Take, Value


class _Hashed(io.RawIOBase):
    """Passes bytes on and remembers their number and hash."""

    def __init__(self, into: IO[bytes]) -> None:
        self._into = into
        self.sha256 = hashlib.sha256()
        self.length = 0

    @override
    def writable(self) -> bool:
        return True

    @override
    def write(self, data: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        self.sha256.update(data)
        self.length += len(data)
        return self._into.write(data)


class Archive:
    """Files go in one after the other; nothing of them stays in memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(stream, "w")
        self.listed: list[dict[str, object]] = []

    @contextmanager
    def file(self, path: str, /, *, packed: bool = False, **about: object) -> Iterator[io.RawIOBase]:
        """Write a file, compressed unless it is packed; `about` is what the list of files says of it, too."""
        with self._zip.open(self._entry(path, packed=packed), "w", force_zip64=True) as entry:
            hashed = _Hashed(entry)
            yield hashed
        where = {"path": path, "bytes": hashed.length, "hash": f"sha256:{hashed.sha256.hexdigest()}"}
        self.listed.append({**about, **where})

    def add(self, path: str, content: str | bytes) -> None:
        with self.file(path) as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def add_unlisted(self, path: str, content: str) -> None:
        self._zip.writestr(self._entry(path), content)

    def _entry(self, path: str, *, packed: bool = False) -> zipfile.ZipInfo:
        entry = zipfile.ZipInfo(path)  # without a time of its own: equal files make an equal archive
        entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        return entry

    def close(self) -> None:
        """Write the directory, without which no program opens the archive."""
        self._zip.close()


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
