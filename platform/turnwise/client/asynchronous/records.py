"""Lists that come in pages."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeVar, cast

Row = TypeVar("Row")


class AsyncRecords(Generic[Row]):
    """Rows of a list, read anew each time that they are iterated."""

    def __init__(self, read: Callable[[], AsyncIterator[dict[str, Any]]]) -> None:
        self._read = read

    def __aiter__(self) -> AsyncIterator[Row]:
        return cast("AsyncIterator[Row]", self._read())

    async def to_list(self) -> list[Row]:
        """All rows."""
        rows = list[Row]()
        async for row in self:
            rows.append(row)
        return rows

    async def to_pandas(self) -> Any:
        """All rows as a data frame of pandas, with a column for each answer, such as `answers.KEY`.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("Install pandas, or use to_list().") from None
        return pandas.json_normalize(cast("list[dict[str, Any]]", await self.to_list()))
