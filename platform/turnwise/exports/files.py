"""The zip archive of a bundle: its tables as JSON Lines, CSV and Parquet, and its pictures.

Tables are written batch by batch, and the archive to a stream without seeking. It lists its files with
their hashes.
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
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL
from typing_extensions import override

from evaluation.files.writing import csv_text
from evaluation.report.bundles.columns import Kind, Table
from turnwise.dialogues.models import Picture
from turnwise.exports.message_columns import FOLDER, JUDGED_PICTURES
from turnwise.exports.rows import Batch, BatchWriter, Value
from turnwise.studies.models import Study


class _HashingWriter(io.RawIOBase):
    """Writer that counts and hashes the bytes that it passes on."""

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
    """Zip archive written file by file; no file is held in memory."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._zip = zipfile.ZipFile(stream, "w")
        self.listed: list[dict[str, object]] = []

    @contextmanager
    def file(self, path: str, /, *, packed: bool = False, **about: object) -> Iterator[io.RawIOBase]:
        """Write a file, compressed unless `packed`; `about` goes into its entry in the list of files."""
        with self._zip.open(self._entry(path, packed=packed), "w", force_zip64=True) as entry:
            hashed = _HashingWriter(entry)
            yield hashed
        where = {"path": path, "bytes": hashed.length, "hash": f"sha256:{hashed.sha256.hexdigest()}"}
        self.listed.append({**about, **where})

    def add(self, path: str, content: str | bytes) -> None:
        with self.file(path) as file:
            file.write(content.encode() if isinstance(content, str) else content)

    def add_unlisted(self, path: str, content: str) -> None:
        self._zip.writestr(self._entry(path), content)

    def _entry(self, path: str, *, packed: bool = False) -> zipfile.ZipInfo:
        entry = zipfile.ZipInfo(path)  # without a time, so that equal files make an equal archive
        entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        return entry

    def close(self) -> None:
        """Write the archive's directory."""
        self._zip.close()


@contextmanager
def _jsonl(file: IO[bytes], table: Table) -> Iterator[BatchWriter]:
    names = [column.name for column in table.columns]
    objects = orjson.OPT_APPEND_NEWLINE
    yield lambda batch: file.writelines(
        orjson.dumps(dict(zip(names, row, strict=True)), option=objects) for row in batch
    )


@contextmanager
def _csv(file: IO[bytes], table: Table) -> Iterator[BatchWriter]:
    file.write(csv_text([[column.name for column in table.columns]]).encode())
    yield lambda batch: file.write(csv_text(batch).encode())


def _parquet(file: IO[bytes], table: Table) -> AbstractContextManager[BatchWriter]:
    from turnwise.exports.parquet import writing  # loads PyArrow, which starts a thread

    return writing(file, table)


def with_times_as_text(batch: Batch, table: Table) -> Batch:
    """Rows with times as text, in UTC to the microsecond, all of the same length."""
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
        writing: context manager from an open file and its table to a writer of rows.
        packed: whether the format is compressed already.
        typed: whether it takes typed values; else times come as text (`with_times_as_text`).
    """

    mediatype: str
    writing: Callable[[IO[bytes], Table], AbstractContextManager[BatchWriter]]
    packed: bool = False
    typed: bool = False


FORMATS: Mapping[str, Format] = {
    "jsonl": Format("application/jsonl", _jsonl),
    "csv": Format("text/csv", _csv),
    "parquet": Format("application/vnd.apache.parquet", _parquet, packed=True, typed=True),
}


def schema_of(table: Table) -> dict[str, Any]:
    """Columns of a table as a Frictionless Table Schema."""
    fields = [
        {"name": column.name, "type": column.kind.value, "description": column.meaning}
        for column in table.columns
    ]
    return {"fields": fields, "missingValues": [""]}


def sent_pictures(study: Study) -> QuerySet[Picture]:
    """Pictures that were sent in the conversations that the study has or judges, each content once."""
    in_study = Q(seat__dialogue__study=study, messages__isnull=False)
    judged = Q(pk__in=RawSQL(f"SELECT sent.picture_id {JUDGED_PICTURES}", [study.pk]))
    return Picture.objects.filter(in_study | judged).order_by("sha256", "pk").distinct("sha256")


def add_pictures(archive: Archive, study: Study) -> None:
    """Add the files of a study's pictures to its bundle."""
    for key in list(sent_pictures(study).values_list("pk", flat=True)):
        picture = Picture.objects.get(pk=key)
        path = f"{FOLDER}/{picture.file_name}"
        with archive.file(path, packed=True, mediatype=picture.media_type) as file:
            file.write(bytes(picture.content))
