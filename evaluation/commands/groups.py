"""Groups of units in a file with one row per rating, such as the system or the conversation of each unit."""

import numpy as np

from evaluation.files.reading import FileError, Table
from evaluation.statistics.labels import AnyArray, IntArray, coded


def group_of_units(
    table: Table, unit: str, group: str, *, relation: tuple[str, str] = ("belongs to", "to"), cure: str = ""
) -> tuple[AnyArray, IntArray]:
    """Read the group of each unit, which must be the same in all rows of the unit.

    Args:
        table: the file.
        unit: column that names the unit.
        group: column that names its group.
        relation: words of the refusal before the group of a row, and before that of the unit's first row.
        cure: end of the refusal: what to do.

    Returns:
        Names of the groups, rising, and (units,) their codes, in the order of the units.

    Raises:
        FileError: two rows of a unit name different groups; it names the line of both.
    """
    units, of_row = coded(table.columns[unit])
    names, codes = coded(table.columns[group])
    _, first = np.unique(of_row, return_index=True)
    of_unit: IntArray = codes[first]
    differs = np.flatnonzero(of_unit[of_row] != codes)
    if differs.size:
        row = int(differs[0])
        here, there = relation
        raise FileError(
            f"{table.path}, line {table.lines[row]}, column {group}: unit '{units[of_row[row]]}' {here} "
            f"'{names[codes[row]]}' here, but {there} '{names[of_unit[of_row[row]]]}' in line "
            f"{table.lines[first[of_row[row]]]}.{cure}"
        )
    return names, of_unit
