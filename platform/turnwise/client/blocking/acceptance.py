# Written by scripts/blocking_client.py: change ../asynchronous/acceptance.py, then run make fmt.
"""Review of a study's finished conversations: their measures, limits and decisions."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, cast

from turnwise.client.blocking.connection import Client
from turnwise.client.blocking.records import Records
from turnwise.client.rows import Reviewed


class Review:
    """Review of one study."""

    def __init__(self, client: Client, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._path = f"{study}/review"

    def dialogues(self, state: str = "") -> Records[Reviewed]:
        """Finished conversations with their measures; `state` is `pending`, `accepted` or `rejected`."""
        return Records(lambda: self._client.pages(self._path, state=state))

    def limits(self) -> dict[str, float | None]:
        """The limits beyond which a conversation is marked, by measure."""
        return dict(self._client.get(f"{self._path}/limits"))

    def change_limits(self, **limits: float | None) -> dict[str, float | None]:
        """Change some of them; None is not checked."""
        return dict(self._client.call("PATCH", f"{self._path}/limits", limits))

    def accept_fitting(self, dialogues: Sequence[str]) -> int:
        """Accept those of up to 100 conversations that wait and keep all limits; returns how many."""
        path = f"{self._path}/accept"
        found = self._client.call("POST", path, {"dialogues": [str(each) for each in dialogues]})
        return int(found["accepted"])

    def decide(self, dialogue: str, state: str, reason: str = "") -> dict[str, Any]:
        """Decide on a conversation.

        Args:
            dialogue: its id.
            state: `accepted`, `rejected`, or `pending`, which takes a decision back.
            reason: why it is rejected.
        """
        sent = {"state": state, "reason": reason}
        return cast("dict[str, Any]", self._client.call("PUT", f"{self._path}/{dialogue}", sent))

    def reward(self, dialogue: str, amount: Decimal) -> int:
        """Give both speakers of an accepted conversation a bonus; returns how many people get it."""
        path = f"{self._path}/{dialogue}/bonus"
        found = self._client.call("POST", path, {"amount": str(amount)})
        return int(found["people"])
