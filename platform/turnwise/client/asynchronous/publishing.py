"""Publishing the report of a study, and its texts before that: personal data, redactions, pictures."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from turnwise.client.asynchronous.connection import AsyncClient
from turnwise.client.asynchronous.records import AsyncRecords
from turnwise.client.rows import Redaction, SentPicture


class AsyncPublications:
    """Public addresses of one study."""

    def __init__(self, client: AsyncClient, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._path = f"{study}/publications"

    async def all(self) -> list[dict[str, Any]]:
        """Its public addresses with their versions, the newest first; one at most is not revoked."""
        return cast("list[dict[str, Any]]", await self._client.get(self._path))

    async def preview(self, title: str, **details: Any) -> dict[str, Any]:
        """Get what would become public: `results`, `files`, and the `digest` for `publish`.

        Args:
            title: title of the public page.
            details: `authors`, `licence`, `address`, `is_indexed`, `in_leaderboard`, `rows`, `consents`.
        """
        sent = {"title": title, **details}
        return cast("dict[str, Any]", await self._client.call("POST", f"{self._path}/preview", sent))

    async def publish(self, digest: str, title: str, **details: Any) -> dict[str, Any]:
        """Publish the newest report as the next version; the same details as those of the preview.

        Args:
            digest: `digest` of the preview that you read.
            title: title of the public page.
            details: as for `preview`.

        Raises:
            ApiError: with status 409, what would become public has changed since.
        """
        sent = {"title": title, "previewed": digest, **details}
        return cast("dict[str, Any]", await self._client.call("POST", self._path, sent))

    async def change_listing(self, **listing: bool) -> dict[str, Any]:
        """Change `is_indexed` and `in_leaderboard`; what is left out stays."""
        path = f"{self._path}/listing"
        return cast("dict[str, Any]", await self._client.call("PATCH", path, listing))

    async def revoke(self) -> dict[str, Any]:
        """Take all versions from the public, for good."""
        return cast("dict[str, Any]", await self._client.call("POST", f"{self._path}/revoke"))


class AsyncTexts:
    """Personal data in the texts of one study."""

    def __init__(self, client: AsyncClient, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._study = study

    async def find(self) -> AsyncIterator[dict[str, Any]]:
        """Search all texts for likely personal data, some at once: `found` in `texts` of a `version`."""
        after: int | None = 0
        while after is not None:
            found = await self._client.get(f"{self._study}/personal-data", after=after)
            yield found
            after = found["after"]

    async def redact(self, texts: Sequence[str], *, kind: str = "other", seen: int = 0) -> int:
        """Redact texts in all that is exported; returns how many were not redacted before.

        Args:
            texts: what becomes a mark.
            kind: `email`, `link`, `account`, `phone`, `address`, `name` or `other`.
            seen: `version` of `find`, once you have read all that it found; 0: record no review.
        """
        sent = {"texts": [{"text": each, "kind": kind} for each in texts], "seen": seen}
        return int((await self._client.call("POST", f"{self._study}/redactions", sent))["redacted"])

    async def undo(self, redaction: int) -> Redaction:
        """Undo a redaction by its id: the text is exported as it was written."""
        path = f"{self._study}/redactions/{redaction}/undo"
        return cast("Redaction", await self._client.call("POST", path))

    def redactions(self) -> AsyncRecords[Redaction]:
        """Its redactions, with those that were undone."""
        return AsyncRecords(lambda: self._client.pages(f"{self._study}/redactions"))

    def pictures(self) -> AsyncRecords[SentPicture]:
        """The pictures that its participants sent."""
        return AsyncRecords(lambda: self._client.pages(f"{self._study}/pictures"))

    async def remove_pictures(self, pictures: Sequence[int]) -> int:
        """Delete pictures for good, by their ids; returns how many."""
        path = f"{self._study}/pictures/removed"
        return int((await self._client.call("POST", path, {"pictures": [*pictures]}))["removed"])
