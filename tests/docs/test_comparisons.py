"""docs/comparisons.md describes exactly the columns of the comparison's file."""

import re
from pathlib import Path

from turnwise.comparisons.side_by_side import CSV_COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "comparisons.md").read_text()


def test_every_column_is_described_in_order() -> None:
    described = [
        re.findall(r"`(\w+)`", row.split("|")[1]) for row in PAGE.splitlines() if row.startswith("| `")
    ]

    assert [column for row in described for column in row] == list(CSV_COLUMNS)
