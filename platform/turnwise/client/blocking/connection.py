# Written by scripts/blocking_client.py: change ../asynchronous/connection.py, then run make fmt.
"""Connection to an installation: requests repeated safely, pages, downloads, and jobs that end some time."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import httpx

from turnwise.client.errors import ApiError, JobFailedError

MOST_TRIES = 5
LONGEST_WAIT = 120.0  # seconds; a server that asks for more is not waited for
_PAUSE = 0.5  # seconds before the second try; it doubles with each
_BUSY = frozenset({429, 502, 503, 504})
PAGE = 500  # rows


class Client:
    """Client of the REST API of one installation; use it as a context manager, or close it.

    Requests that the network loses or a busy server refuses are sent up to five times. Each POST has an
    idempotency key, so that nothing is done twice.

    Attributes:
        address: of the installation, without a slash at its end.
    """

    def __init__(
        self,
        address: str,
        token: str,
        *,
        timeout: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect at the first request.

        Args:
            address: of the installation, such as `http://localhost:8000`.
            token: made on its page Tokens, with the scopes that the calls need.
            timeout: seconds for each part of a request.
            sleep: waits between tries and while jobs run.
        """
        self.address = address.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.address}/api",
            headers={"Authorization": f"Bearer {token}", "User-Agent": "turnwise-client"},
            timeout=timeout,
        )
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def get(self, path: str, /, **query: Any) -> Any:
        """Read what is at a path below /api, such as `/bots`."""
        return self.call("GET", path, query=query)

    def call(
        self, method: str, path: str, body: object = None, *, query: Mapping[str, Any] | None = None
    ) -> Any:
        """Send a request and return the JSON of its answer.

        Args:
            method: such as `POST`.
            path: path below /api.
            body: what is sent as JSON; None: nothing.
            query: parameters of the address; those that are None are left out.

        Raises:
            ApiError: the server refuses it.
            httpx.TransportError: the server cannot be reached.
        """
        headers = {"Idempotency-Key": str(uuid4())} if method == "POST" else {}
        request = self._http.build_request(
            method, path, json=body, params=_without_none(query), headers=headers
        )
        response = self._send(request)
        response.read()
        return response.json()

    def pages(self, path: str, /, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list that comes in pages, and read each page once it is needed."""
        cursor: str | None = ""
        while cursor is not None:
            found = self.get(path, **{"limit": PAGE, **query, "cursor": cursor or None})
            yield from found["items"]
            cursor = found["next"]

    @contextmanager
    def stream(self, path: str, /, **query: Any) -> Iterator[httpx.Response]:
        """Open a download, of which nothing is held in memory."""
        response = self._send(self._http.build_request("GET", path, params=_without_none(query)))
        try:
            yield response
        finally:
            response.close()

    def download(self, path: str, target: Path, /, **query: Any) -> Path:
        """Write a download to a file, which appears under its name once it is complete."""
        partial = target.with_name(target.name + ".part")
        with partial.open("wb") as file, self.stream(path, **query) as response:
            for chunk in response.iter_bytes():
                file.write(chunk)
        return partial.replace(target)

    def wait(
        self,
        read: Callable[[], Any],
        is_done: Callable[[Any], bool],
        *,
        timeout: float,
        what: str,
    ) -> Any:
        """Read the state of a job until it is done.

        Raises:
            JobFailedError: its state is `failed`.
            TimeoutError: it is not done in time; it goes on at the server.
        """
        deadline, pause = time.monotonic() + timeout, 0.2
        while not is_done(found := read()):
            if found["state"] == "failed":
                raise JobFailedError.of(what, found)
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} is not done after {timeout:g} seconds. It goes on; look later.")
            self._sleep(pause)
            pause = min(5.0, pause * 1.5)
        return found

    def _send(self, request: httpx.Request) -> httpx.Response:
        """Send a request, again if it is worth it; the answer is open, and is no refusal."""
        for tries_left in reversed(range(MOST_TRIES)):
            pause = _PAUSE * 2 ** (MOST_TRIES - 1 - tries_left)
            try:
                response = self._http.send(request, stream=True)
            except httpx.TransportError:
                if not tries_left:
                    raise
            else:
                if response.is_success:
                    return response
                response.read()
                asked = response.headers.get("Retry-After", "")
                pause = max(pause, float(asked)) if asked.isdecimal() else pause
                if response.status_code not in _BUSY or not tries_left or pause > LONGEST_WAIT:
                    raise ApiError.of(response)
            self._sleep(pause)
        raise AssertionError("the last try returns or raises")


def _without_none(query: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


HOUR = 3600.0


class Job:
    """A job. Its values are those of the newest answer: `refresh` reads them again.

    Attributes:
        id: number in its addresses.
        details: all values, as the API describes them.
    """

    _what = "The job"
    _continue = "continue"

    def __init__(self, client: Client, jobs: str, details: Mapping[str, Any]) -> None:
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

    def refresh(self) -> Self:
        """Read its values again."""
        return self._take(self._client.get(self._path))

    def wait(self, *, timeout: float = HOUR) -> Self:
        """Wait until it is done or cancelled.

        Raises:
            JobFailedError: it failed.
            TimeoutError: it is not done in time.
        """
        return self._take(
            self._client.wait(
                lambda: self._client.get(self._path),
                lambda found: found["state"] in ("done", "cancelled"),
                timeout=timeout,
                what=self._what,
            )
        )

    def cancel(self) -> Self:
        """Stop it; what it has so far is kept."""
        return self._take(self._client.call("POST", f"{self._path}/cancel"))

    def go_on(self) -> Self:
        """Continue it with what is missing."""
        return self._take(self._client.call("POST", f"{self._path}/{self._continue}"))

    def _take(self, details: Mapping[str, Any]) -> Self:
        self.details = dict(details)
        return self
