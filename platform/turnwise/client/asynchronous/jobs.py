"""Jobs of the server that end some time: runs of responses, machine judges."""

from collections.abc import Mapping
from typing import Any, Self

from turnwise.client.asynchronous.connection import AsyncClient

HOUR = 3600.0


class AsyncJob:
    """A job. Its values are those of the newest answer: `refresh` reads them again.

    Attributes:
        id: number in its addresses.
        details: all values, as the API describes them.
    """

    _what = "The job"
    _continue = "continue"

    def __init__(self, client: AsyncClient, jobs: str, details: Mapping[str, Any]) -> None:
        """Take the path of the list that it is in, and its values."""
        self._client = client
        self.id: int = details["id"]
        self.details = dict(details)
        self._path = f"{jobs}/{self.id}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}, {self.state}>"

    @property
    def state(self) -> str:
        """State: queued, running, done, failed or cancelled."""
        return str(self.details["state"])

    async def refresh(self) -> Self:
        """Read its values again."""
        return self._take(await self._client.get(self._path))

    async def wait(self, *, timeout: float = HOUR) -> Self:
        """Wait until it is done or cancelled.

        Raises:
            JobFailedError: it failed.
            TimeoutError: it is not done in time.
        """
        return self._take(
            await self._client.wait(
                lambda: self._client.get(self._path),
                lambda found: found["state"] in ("done", "cancelled"),
                timeout=timeout,
                what=self._what,
            )
        )

    async def cancel(self) -> Self:
        """Stop it; what it has so far is kept."""
        return self._take(await self._client.call("POST", f"{self._path}/cancel"))

    async def go_on(self) -> Self:
        """Continue it with what is missing."""
        return self._take(await self._client.call("POST", f"{self._path}/{self._continue}"))

    def _take(self, details: Mapping[str, Any]) -> Self:
        self.details = dict(details)
        return self
