"""Anchor packs: items whose value an earlier study knows."""

from pathlib import Path
from typing import Any, Self, cast

from turnwise.client.asynchronous.connection import AsyncClient
from turnwise.client.asynchronous.records import AsyncTitled


class AsyncAnchorPack(AsyncTitled):
    """A version of an anchor pack; it never changes.

    Attributes:
        id: number in its addresses.
        details: all values; its anchors are in `items` after `get`.
    """

    _list = "/anchor-packs"

    @classmethod
    async def make(
        cls, client: AsyncClient, study: str, title: str, *, question_set: str, score: str, **choice: Any
    ) -> Self:
        """Make a pack from the judgments of a closed study.

        Args:
            client: connection to the installation.
            study: code of the study.
            title: name; an existing one makes the next version of that pack.
            question_set: key of the question set.
            score: key of the score over whose range the anchors are spread.
            choice: `number`, `excluded` (systems), `seed`.
        """
        sent = {"title": title, "question_set": question_set, "score": score, **choice}
        return cls(client, await client.call("POST", f"/studies/{study}/anchor-packs", sent))

    @classmethod
    async def load(cls, client: AsyncClient, file: str | Path) -> Self:
        """Import a pack from a file of JSON Lines, as `save` writes it."""
        sent = {"text": Path(file).read_text(encoding="utf-8")}
        return cls(client, await client.call("POST", cls._list, sent))

    async def save(self, target: str | Path) -> Path:
        """Write it to a file of JSON Lines, which one can import; a file .csv gets a table."""
        name = "anchors.csv" if Path(target).suffix == ".csv" else "anchors.jsonl"
        return await self._client.download(f"{self._list}/{self.id}/{name}", Path(target))

    async def rename(self, title: str) -> None:
        """Rename all versions of your pack.

        Raises:
            ApiError: another pack of yours has this name.
        """
        sent = {"title": title}
        self.details = dict(await self._client.call("PATCH", f"{self._list}/{self.id}", sent))

    async def delete(self) -> dict[str, Any]:
        """Delete this version; the answer says until when you can undo it.

        Raises:
            ApiError: opened studies use it; the message names them.
        """
        return cast("dict[str, Any]", await self._client.call("DELETE", f"{self._list}/{self.id}"))
