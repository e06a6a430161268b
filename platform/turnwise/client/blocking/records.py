# Written by scripts/blocking_client.py: change ../asynchronous/records.py, then run make fmt.
"""Lists of the API: their pages, and what they list by id and title."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Self, TypeVar, cast

from turnwise.client.blocking.connection import Client

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


class Titled:
    """Something with an id and a title in a list of the API.

    Attributes:
        id: number in its addresses.
        details: all values, as the API describes them.
    """

    _list = ""  # path of the list

    def __init__(self, client: Client, details: Mapping[str, Any]) -> None:
        self._client = client
        self.id: int = details["id"]
        self.details = dict(details)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} “{self.details['title']}”>"

    @classmethod
    def get(cls, client: Client, number: int) -> Self:
        """Find one by its id, with all its values."""
        return cls(client, client.get(f"{cls._list}/{number}"))

    @classmethod
    def find(cls, client: Client) -> list[Self]:
        """List those that you may use."""
        return [cls(client, each) for each in client.pages(cls._list)]
