"""What a run notes of its steps: CSV files that a resumed run continues as if it had not stopped."""

import csv
from collections.abc import Mapping
from pathlib import Path

from chatbots.training.writing import write_atomically


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
