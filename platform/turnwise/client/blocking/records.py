# Written by scripts/blocking_client.py: change ../asynchronous/records.py, then run make fmt.
"""Lists that come in pages."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, cast

Row = TypeVar("Row")


class Records(Generic[Row]):
    """Rows of a list, read anew each time that they are iterated."""

    def __init__(self, read: Callable[[], Iterator[dict[str, Any]]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Row]:
        return cast("Iterator[Row]", self._read())

    def to_list(self) -> list[Row]:
        """All rows."""
        rows = list[Row]()
        for row in self:
            rows.append(row)
        return rows

    def to_pandas(self) -> Any:
        """All rows as a data frame of pandas, with a column for each answer, such as `answers.KEY`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("Install pandas, or use to_list().") from None
        return pandas.json_normalize(cast("list[dict[str, Any]]", self.to_list()))
