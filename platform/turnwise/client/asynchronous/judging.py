"""The queue of a study that raters judge: items, gold, plan, battery, machine judges."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from turnwise.client.asynchronous.connection import AsyncClient, AsyncJob
from turnwise.client.asynchronous.records import AsyncRecords
from turnwise.client.rows import Item


class AsyncJudge(AsyncJob):
    """A bot that judges the items of an ask, beside people."""

    _what = "The machine judge"


class AsyncQueue:
    """The queue of one study."""

    def __init__(self, client: AsyncClient, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._study = study

    async def systems(self) -> list[dict[str, Any]]:
        """By system, how many items there are, and how many judgments of those wanted."""
        return cast("list[dict[str, Any]]", await self._client.get(self._path("/queue")))

    def items(self) -> AsyncRecords[Item]:
        """Its items, with those that were taken out."""
        return AsyncRecords(lambda: self._client.pages(self._path("/items")))

    async def item(self, key: str) -> Item:
        """One item by its key."""
        return cast("Item", await self._client.get(self._path(f"/items/{key}")))

    async def add_responses(self, runs: Sequence[int], **choice: Any) -> int:
        """Add the responses of runs; returns how many are new.

        Args:
            runs: their ids.
            choice: `contexts` (how many, drawn at random), `seed`, `category`, `least_turns`, `most_turns`.
        """
        return await self._add(responses={"runs": [*runs], **choice})

    async def add_conversations(self, study: str, **choice: Any) -> int:
        """Add turns of the conversations of a study; returns how many are new.

        Args:
            study: code of the study in which they were held.
            choice: `subject` (`turn` or `dialogue`), `language`, `conversations` (how many at random).
        """
        return await self._add(conversations={"study": study, **choice})

    async def add_contexts(self, context_set: int, version: int, **choice: Any) -> int:
        """Add contexts themselves; returns how many are new. `choice` is as for `add_responses`."""
        return await self._add(contexts={"context_set": context_set, "version": version, **choice})

    async def add_pairs(self, runs: Sequence[int], **choice: Any) -> dict[str, int]:
        """Add pairs of responses to the same contexts, of one run of each system.

        Args:
            runs: their ids.
            choice: `each` (pairs of every two systems), `seed`, `least_words`, `without_unknown`.

        Returns:
            How many were `added`, and how many contexts were `unfit`.
        """
        sent = {"runs": [*runs], **choice}
        return cast("dict[str, int]", await self._client.call("POST", self._path("/pairs"), sent))

    async def remove(self, keys: Sequence[str], *, removed: bool = True) -> int:
        """Take items out of the queue, or put them back; returns how many were changed."""
        sent = {"items": [*keys], "removed": removed}
        return int((await self._client.call("POST", self._path("/items/removed"), sent))["changed"])

    async def remove_systems(self, systems: Sequence[str]) -> list[dict[str, Any]]:
        """Take these systems out of the queue and put all others back."""
        path = self._path("/queue/removed")
        return cast("list[dict[str, Any]]", await self._client.call("PUT", path, [*systems]))

    async def declare_gold(
        self, key: str, right: Mapping[str, Sequence[Any]], *, instructed: bool = False
    ) -> Item:
        """Make an item gold, which counts in no score.

        Args:
            key: key of the item.
            right: by key of the question, the values that are right.
            instructed: whether the item says itself what to answer.
        """
        sent = {"right": {name: [*values] for name, values in right.items()}, "instructed": instructed}
        return cast("Item", await self._client.call("PUT", self._path(f"/items/{key}/gold"), sent))

    async def undeclare_gold(self, key: str) -> Item:
        """Make a gold item an ordinary one, which counts in scores."""
        return cast("Item", await self._client.call("DELETE", self._path(f"/items/{key}/gold")))

    async def plan(self) -> dict[str, Any]:
        """How the queue is judged: raters, batches, training, gold items."""
        return cast("dict[str, Any]", await self._client.get(self._path("/queue/plan")))

    async def change_plan(self, **values: Any) -> dict[str, Any]:
        """Change values of the plan, such as `raters_per_item` and `batch_size`."""
        path = self._path("/queue/plan")
        return cast("dict[str, Any]", await self._client.call("PATCH", path, values))

    async def battery(self) -> dict[str, Any]:
        """The battery of its workers; refused with status 404 if they get items of the queue."""
        return cast("dict[str, Any]", await self._client.get(self._path("/battery")))

    async def set_battery(self, **values: Any) -> dict[str, Any]:
        """Give the workers of a draft a battery, or change values such as `targets` and `fillers`."""
        return cast("dict[str, Any]", await self._client.call("PUT", self._path("/battery"), values))

    async def delete_battery(self) -> dict[str, Any]:
        """Let the workers of a draft get items of the queue; returns its plan."""
        return cast("dict[str, Any]", await self._client.call("DELETE", self._path("/battery")))

    async def anchors(self) -> list[dict[str, Any]]:
        """The anchor packs in the queue, each with how many judgments of those wanted."""
        found = await self._client.get(self._path("/queue/anchors"))
        return cast("list[dict[str, Any]]", found["items"])

    async def add_anchors(self, pack: int) -> list[dict[str, Any]]:
        """Mix an anchor pack in, by its id; returns all packs in the queue. Raters are not told."""
        found = await self._client.call("POST", self._path("/queue/anchors"), {"pack": pack})
        return cast("list[dict[str, Any]]", found["items"])

    async def remove_anchors(self, pack: int) -> list[dict[str, Any]]:
        """Take a pack out, as long as nobody has judged one of its anchors; returns those that are left."""
        found = await self._client.call("DELETE", self._path(f"/queue/anchors/{pack}"))
        return cast("list[dict[str, Any]]", found["items"])

    async def _add(self, **source: Mapping[str, Any]) -> int:
        return int((await self._client.call("POST", self._path("/items"), source))["added"])

    def _path(self, rest: str) -> str:
        return self._study + rest
