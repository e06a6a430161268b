"""Excel workbooks and Parquet files as rows of text or records, bounded by their unpacked size.

Import this only in a process of its own (`live.subprocesses`): a packed file of a few kilobytes may hold
gigabytes, and PyArrow starts a thread when it is loaded. `python -m turnwise.contexts.packed_files` prints
the rows of a workbook.
"""

import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time
from io import BytesIO
from typing import Any, BinaryIO, Literal

from evaluation.files.writing import original

Kind = Literal["", "workbook", "parquet", "zip", "inspect log", "old workbook"]

MAX_UNPACKED = 400_000_000
"""Bytes that a packed file may have when it is unpacked."""
MAX_PARTS = 2_000
"""Files within a workbook."""
_ROWS = 200  # of Parquet, decoded at a time
_PEEKED = 8


class PackedFileError(Exception):
    """A packed file cannot be read; the message says why, with the cure."""


def kind_of(file: BinaryIO) -> Kind:
    """Kind of packed file by its first bytes; "" for text. The file is then at its beginning again."""
    head = file.read(_PEEKED)
    file.seek(0)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        return "old workbook"
    if not head.startswith(b"PK\x03\x04"):
        return ""
    try:
        names = {entry.filename for entry in _entries(file)}
    finally:
        file.seek(0)
    if "xl/workbook.xml" in names:
        return "workbook"
    return "inspect log" if "_journal/start.json" in names else "zip"


def _entries(file: BinaryIO) -> list[zipfile.ZipInfo]:
    """Files within an archive.

    Raises:
        PackedFileError: the archive is damaged, or larger unpacked than `MAX_UNPACKED`.
    """
    try:
        entries = zipfile.ZipFile(file).infolist()
    except (zipfile.BadZipFile, ValueError, EOFError, OSError) as error:
        raise PackedFileError(f"The file is damaged ({str(error)[:100]}). Save it again.") from error
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > MAX_PARTS or unpacked > MAX_UNPACKED:
        raise PackedFileError(_too_large(unpacked))
    return entries


def _too_large(unpacked: int) -> str:
    return (
        f"Unpacked, the file has {unpacked / 10**6:,.0f}\u00a0MB; {MAX_UNPACKED // 10**6:,}\u00a0MB can be "
        "read. Split it."
    )


def workbook_rows(file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """Rows of a workbook's first sheet with their numbers, counted from 1; empty rows are left out.

    Formulas give their last stored value, times ISO 8601.

    Raises:
        PackedFileError: the workbook is damaged or too large.
    """
    from openpyxl import load_workbook

    _entries(file)
    file.seek(0)
    try:
        book = load_workbook(file, read_only=True, data_only=True)
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # the file's own statement of its size need not be true
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
            row = [_cell(value) for value in cells]
            if any(row):
                yield number, row
    except PackedFileError:
        raise
    except Exception as error:  # the library raises many kinds for damaged files
        raise PackedFileError(
            f"The workbook cannot be read ({str(error)[:100]}). Save it again as .xlsx or CSV."
        ) from error


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return original(str(value))


def parquet_records(file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows of a Parquet file as records with their numbers, counted from 1.

    Times become ISO 8601, and bytes are left out.

    Raises:
        PackedFileError: the file is damaged or too large.
    """
    import pyarrow
    import pyarrow.parquet

    try:
        opened = pyarrow.parquet.ParquetFile(file)
        about = opened.metadata
        unpacked = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
        if unpacked > MAX_UNPACKED:
            raise PackedFileError(_too_large(unpacked))
        number = 0
        for batch in opened.iter_batches(_ROWS):
            if batch.nbytes > MAX_UNPACKED:
                raise PackedFileError(_too_large(batch.nbytes))
            for record in batch.to_pylist():
                number += 1
                yield number, {key: _value(value) for key, value in record.items()}
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise PackedFileError(
            f"The Parquet file cannot be read ({str(error)[:100]}). Save it again."
        ) from error


def _value(value: Any) -> Any:
    """A value as JSON would have it."""
    if isinstance(value, dict):
        return {key: _value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_value(each) for each in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return None if isinstance(value, bytes) else value


def json_lines_of(file: BinaryIO) -> str:
    """Rows of a workbook below its header as JSON Lines; row 7 is line 7.

    Raises:
        PackedFileError: the workbook cannot be read, or has two columns of one name.
    """
    header, lines = list[str](), list[str]()
    for number, cells in workbook_rows(file):
        lines += [""] * (number - 1 - len(lines))
        if header:
            lines.append(json.dumps(_record(header, cells), ensure_ascii=False))
            continue
        header = column_names(cells)
        lines.append("")
        if twice := next((name for at, name in enumerate(header) if name in header[:at]), ""):
            raise PackedFileError(f"Two columns are called “{twice[:40]}”. Rename one of them.")
    return "\n".join(lines)


def _record(header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """Cells of a row by column, those of columns without a name only where something stands in them."""
    names = [*header, *(f"column {number + 1}" for number in range(len(header), len(cells)))]
    row = dict(zip(names, [*cells, *[""] * (len(names) - len(cells))], strict=True))
    unnamed = {f"column {number}" for number in range(1, len(names) + 1)}
    return {name: cell for name, cell in row.items() if cell or name not in unnamed}


def column_names(header: Sequence[str]) -> list[str]:
    """Names of a table's columns; one without a name is called by its number, such as “column 3”."""
    return [cell.strip() or f"column {number}" for number, cell in enumerate(header, start=1)]


def main() -> None:
    result = {"text": "", "refusal": ""}
    try:
        result["text"] = json_lines_of(BytesIO(sys.stdin.buffer.read()))
    except PackedFileError as error:
        result["refusal"] = str(error)
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
