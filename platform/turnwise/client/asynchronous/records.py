"""Lists of the API: their pages, and what they list by id and title."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Generic, Self, TypeVar, cast

from turnwise.client.asynchronous.connection import AsyncClient

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


class AsyncTitled:
    """Something with an id and a title in a list of the API.

    Attributes:
        id: number in its addresses.
        details: all values, as the API describes them.
    """

    _list = ""  # path of the list

    def __init__(self, client: AsyncClient, details: Mapping[str, Any]) -> None:
        self._client = client
        self.id: int = details["id"]
        self.details = dict(details)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} “{self.details['title']}”>"

    @classmethod
    async def get(cls, client: AsyncClient, number: int) -> Self:
        """Find one by its id, with all its values."""
        return cls(client, await client.get(f"{cls._list}/{number}"))

    @classmethod
    async def find(cls, client: AsyncClient) -> list[Self]:
        """List those that you may use."""
        return [cls(client, each) async for each in client.pages(cls._list)]
