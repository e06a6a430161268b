"""What the API lists by id and title."""

from collections.abc import Mapping
from typing import Any, Self

from turnwise.client.asynchronous.connection import AsyncClient


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
