"""What every corpus that models are trained on has in common.

Files that appear whole or not at all.

What a run notes of its steps: CSV files that a resumed run continues as if it had not stopped.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class CorpusError(ValueError):
    """The input cannot become a corpus, or a file is none; the message says why and what to do."""


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that readers see all of it or nothing."""
    write_atomically(path, json.dumps(value, indent=1).encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that readers see all of it or the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    unfinished.write_bytes(content)
    os.replace(unfinished, path)


def append_row(path: Path, values: Mapping[str, float]) -> None:
    """Add a row to a log, which gets a header of these names with its first one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, values.keys())
        if is_new:
            writer.writeheader()
        writer.writerow(values)


def forget_later(path: Path, step: int) -> None:
    """Take the rows after a step from a log, and a row that was cut off: they are made again."""
    if path.exists():
        header, *rows = path.read_text().splitlines(keepends=True) or [""]
        kept = [row for row in rows if row.endswith("\n") and int(row.partition(",")[0]) <= step]
        write_atomically(path, "".join([header, *kept]).encode())
