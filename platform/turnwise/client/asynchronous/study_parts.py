"""Parts of a study with calls of their own: queue, quality, adjudication, review, texts, publications.

Review and adjudication are defined here, the others in modules of their own.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from turnwise.client.asynchronous.connection import AsyncClient
from turnwise.client.asynchronous.judging import AsyncQueue
from turnwise.client.asynchronous.publishing import AsyncPublications, AsyncTexts
from turnwise.client.asynchronous.quality import AsyncQuality
from turnwise.client.asynchronous.records import AsyncRecords
from turnwise.client.rows import Dispute, Reviewed


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


class AsyncAdjudication:
    """Adjudication of one study."""

    def __init__(self, client: AsyncClient, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._path = f"{study}/adjudication"

    async def state(self) -> dict[str, Any]:
        """Its declaration (`steps`), and the numbers of judged, disputed and decided items."""
        return cast("dict[str, Any]", await self._client.get(self._path))

    async def declare(self, steps: int | None) -> dict[str, Any]:
        """Declare it, before the study opens; None: no adjudication."""
        return cast("dict[str, Any]", await self._client.call("PUT", self._path, {"steps": steps}))

    def items(self) -> AsyncRecords[Dispute]:
        """The items on which raters differ, with whether each is decided."""
        return AsyncRecords(lambda: self._client.pages(f"{self._path}/items"))

    async def item(self, key: str) -> dict[str, Any]:
        """One item with its judgments and the decisions about it."""
        return cast("dict[str, Any]", await self._client.get(f"{self._path}/items/{key}"))

    async def decide(
        self, key: str, answers: Mapping[str, Any], reason: str, *, after: int = 0
    ) -> dict[str, Any]:
        """Decide the open questions of an item.

        Args:
            key: key of the item.
            answers: by key of each open question, the value of its answer.
            reason: why.
            after: `decision` of the item as it was read; a newer decision is not overwritten.
        """
        sent = {"answers": dict(answers), "reason": reason, "after": after}
        path = f"{self._path}/items/{key}/decision"
        return cast("dict[str, Any]", await self._client.call("POST", path, sent))

    async def undo(self, key: str, *, after: int) -> dict[str, Any]:
        """Undo the decision about an item; `after` is its number."""
        path = f"{self._path}/items/{key}/undo"
        return cast("dict[str, Any]", await self._client.call("POST", path, {"after": after}))

    async def make_gold(self, study: str) -> int:
        """Make the decided items gold items of a draft, by its code; returns how many."""
        found = await self._client.call("POST", f"{self._path}/gold", {"study": study})
        return int(found["gold"])


class AsyncStudyParts:
    """The parts of a study.

    Attributes:
        code: the study's code in its addresses.
    """

    def __init__(self, client: AsyncClient, code: str) -> None:
        self._client = client
        self.code = code

    def _path(self, rest: str = "") -> str:
        return f"/studies/{self.code}{rest}"

    @property
    def queue(self) -> AsyncQueue:
        """The queue of items that its raters judge."""
        return AsyncQueue(self._client, self._path())

    @property
    def quality(self) -> AsyncQuality:
        """Quality flags, decisions about workers, and the qualification that it requires."""
        return AsyncQuality(self._client, self._path())

    @property
    def adjudication(self) -> AsyncAdjudication:
        """Items on which its raters differ, and decisions about them."""
        return AsyncAdjudication(self._client, self._path())

    @property
    def texts(self) -> AsyncTexts:
        """Personal data in its texts, and their redaction."""
        return AsyncTexts(self._client, self._path())

    @property
    def publications(self) -> AsyncPublications:
        """Public addresses of its report."""
        return AsyncPublications(self._client, self._path())

    @property
    def review(self) -> AsyncReview:
        """Its finished conversations with their measures, and decisions about them."""
        return AsyncReview(self._client, self._path())
