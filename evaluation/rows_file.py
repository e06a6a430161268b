"""Rows of a CSV file with a header, or of JSON Lines, each with where it stands."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from evaluation.csv_file import FileError

Row = tuple[str, Mapping[str, Any]]
"""Where a row stands, as errors say it, and its cells; those of CSV are text."""


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, JSON Lines if it ends in `.jsonl`, else CSV.

    Raises:
        FileError: no such file, not UTF-8, or a line that is no row; names the line.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield from _json_rows(path, file) if path.suffix == ".jsonl" else _csv_rows(path, file)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a CSV or .jsonl file.") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None


def _csv_rows(path: Path, file: Iterable[str]) -> Iterator[Row]:
    reader = csv.DictReader(file)
    try:
        for row in reader:
            yield f"{path}, line {reader.line_num}", row
    except csv.Error as error:
        raise FileError(f"{path}, line {reader.line_num}: {error}. Save the file as CSV again.") from None


def _json_rows(path: Path, file: Iterable[str]) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}, line {number}: {error}. Write one JSON object a line.") from None
        if not isinstance(row, dict):
            raise FileError(f"{path}, line {number}: not a JSON object. Write one a line.")
        yield f"{path}, line {number}", row
