# Written by scripts/blocking_client.py: change ../asynchronous/titled.py, then run make fmt.
"""What the API lists by id and title."""

from collections.abc import Mapping
from typing import Any, Self

from turnwise.client.blocking.connection import Client


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
