"""Cells of CSV files: found out column by column, and the same as one by one."""

import csv
import io
from collections.abc import Sequence
from decimal import Decimal
from itertools import product

import pytest

from evaluation.files.writing import cell, csv_of, csv_text

VALUES = ["plain", "=1+1", "'=1", "", 'a "b", c\n', None, True, False, 0, -1, 2.5, Decimal("-1.50")]


def one_by_one(rows: Sequence[Sequence[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows([cell(value) for value in row] for row in rows)
    return buffer.getvalue()


@pytest.mark.parametrize("above", VALUES, ids=repr)
def test_a_cell_is_formatted_independently_of_its_column(above: object) -> None:
    rows = [(above, above, below, 1) for below in VALUES]

    assert csv_text(rows) == csv_of(zip(*rows, strict=True)) == one_by_one(rows)


def test_every_two_values_in_one_column() -> None:
    for upper, lower in product(VALUES, repeat=2):
        assert csv_text([(upper, "x"), (lower, "y")]) == one_by_one([(upper, "x"), (lower, "y")])


def test_no_rows_are_no_text_and_rows_of_unequal_length_are_refused() -> None:
    assert csv_text([]) == ""
    with pytest.raises(ValueError, match="shorter"):
        csv_text([("a", "b"), ("c",)])
