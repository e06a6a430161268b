"""Review of a study's finished conversations: their measures, limits and decisions."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, cast

from turnwise.client.asynchronous.connection import AsyncClient
from turnwise.client.asynchronous.records import AsyncRecords
from turnwise.client.rows import Reviewed


class AsyncReview:
    """Review of one study."""

    def __init__(self, client: AsyncClient, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._path = f"{study}/review"

    def dialogues(self, state: str = "") -> AsyncRecords[Reviewed]:
        """Finished conversations with their measures; `state` is `pending`, `accepted` or `rejected`."""
        return AsyncRecords(lambda: self._client.pages(self._path, state=state))

    async def limits(self) -> dict[str, float | None]:
        """The limits beyond which a conversation is marked, by measure."""
        return dict(await self._client.get(f"{self._path}/limits"))

    async def change_limits(self, **limits: float | None) -> dict[str, float | None]:
        """Change some of them; None is not checked."""
        return dict(await self._client.call("PATCH", f"{self._path}/limits", limits))

    async def accept_fitting(self, dialogues: Sequence[str]) -> int:
        """Accept those of up to 100 conversations that wait and keep all limits; returns how many."""
        path = f"{self._path}/accept"
        found = await self._client.call("POST", path, {"dialogues": [str(each) for each in dialogues]})
        return int(found["accepted"])

    async def decide(self, dialogue: str, state: str, reason: str = "") -> dict[str, Any]:
        """Decide on a conversation.

        Args:
            dialogue: its id.
            state: `accepted`, `rejected`, or `pending`, which takes a decision back.
            reason: why it is rejected.
        """
        sent = {"state": state, "reason": reason}
        return cast("dict[str, Any]", await self._client.call("PUT", f"{self._path}/{dialogue}", sent))

    async def reward(self, dialogue: str, amount: Decimal) -> int:
        """Give both speakers of an accepted conversation a bonus; returns how many people get it."""
        path = f"{self._path}/{dialogue}/bonus"
        found = await self._client.call("POST", path, {"amount": str(amount)})
        return int(found["people"])
