"""One HTTP exchange with a service: bounded in time and bytes, to the checked address.

It follows no redirect, uses no proxy of the environment, accepts no compressed answer (its size could not be
bounded), and verifies the certificate of an https address.
"""

import asyncio
import json
import random
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpcore

from chatbots.errors import ServiceError
from chatbots.services.addresses import check_address

MOST_BYTES = 1_000_000
"""Longest accepted answer, in bytes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a service.

    Attributes:
        status: of HTTP.
        headers: names in lower case.
        body: complete, at most `MOST_BYTES`.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a service.

    Attributes:
        url: without a query that holds a secret; it may appear in messages.
        method: of HTTP.
        query: parameters added to the URL; never shown.
        headers: never shown.
        content: JSON of the body; None for no body.
    """

    url: str
    method: str = "POST"
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: Any = None


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects only to addresses that it has checked: a name is resolved once and cannot change then."""

    def __init__(self, plain: httpcore.AsyncNetworkBackend | None = None) -> None:
        self._plain = plain or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve, check every address, connect to the first that answers.

        Raises:
            ForbiddenAddressError: one of the addresses is not allowed.
            httpcore.ConnectError: the name is unknown or nothing answers.
        """
        error: Exception = httpcore.ConnectError(f"the name {host} has no address")
        for address in await self._addresses(host, port):
            try:
                return await self._plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failure:
                error = failure
        raise error

    async def sleep(self, seconds: float) -> None:
        """Sleep as the wrapped backend does."""
        await self._plain.sleep(seconds)

    async def _addresses(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the name {host} cannot be resolved: {error}") from None
        addresses = [str(entry[4][0]) for entry in found]
        for address in addresses:
            check_address(host, address)
        return list(dict.fromkeys(addresses))


class Client:
    """Exchanges JSON with one service. Belongs to the event loop in which it is used.

    Args:
        timeout: seconds for one exchange, all its attempts and pauses included.
        retries: further attempts after status 429 or 5xx.
        connections: largest number at once.
        hidden: texts that must not appear in messages, such as keys.
        verify: how certificates are verified; default: by the system's and certifi's authorities.
    """

    def __init__(
        self,
        *,
        timeout: float,
        retries: int = 0,
        connections: int = 16,
        hidden: Iterable[str] = (),
        verify: ssl.SSLContext | None = None,
    ) -> None:
        self.timeout, self.retries = timeout, retries
        self._hidden = [text for text in hidden if text]
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=verify,
            max_connections=connections,
            keepalive_expiry=30.0,
            network_backend=CheckedNetwork(),
        )

    async def exchange(self, request: Request) -> Any:
        """Send a request and read the JSON of its answer.

        Returns:
            The parsed JSON.

        Raises:
            ServiceError: no answer in time, a status that is not 2xx, an answer too long, or no JSON.
            ForbiddenAddressError: the service's address is not allowed.
        """
        try:
            async with asyncio.timeout(self.timeout) as limit:
                answer = await self._attempts(request, limit)
        except TimeoutError:
            raise ServiceError(
                f"{request.url} did not answer within {self.timeout:g} s. Check that it runs, or raise "
                "timeout."
            ) from None
        except (
            httpcore.NetworkError,
            httpcore.ProtocolError,
            httpcore.UnsupportedProtocol,
            OSError,
        ) as error:
            why = self._without_secrets(str(error) or type(error).__name__)
            raise ServiceError(
                f"{request.url} broke the connection or took none: {why}. Check that it runs and that the "
                "address is right."
            ) from None
        return self._parsed(request, answer)

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    async def _attempts(self, request: Request, limit: asyncio.Timeout) -> Answer:
        for attempt in range(self.retries + 1):
            answer = await self._attempt(request)
            pause = pause_before_retry(answer, attempt)
            ends = limit.when() or 0.0
            is_last = attempt == self.retries or asyncio.get_running_loop().time() + pause >= ends
            if not _is_passing(answer.status) or is_last:
                break
            await asyncio.sleep(pause)
        return answer

    async def _attempt(self, request: Request) -> Answer:
        body = b"" if request.content is None else json.dumps(request.content).encode()
        headers = {
            "Host": urlsplit(request.url).netloc,
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": "Turnwise",
            **({"Content-Type": "application/json"} if request.content is not None else {}),
            **request.headers,
            **({"Content-Length": str(len(body))} if request.content is not None else {}),
        }
        url = _with_query(request.url, request.query)
        async with self._pool.stream(
            request.method, url, headers=[*headers.items()], content=body
        ) as response:
            received = {name.decode().lower(): value.decode("latin-1") for name, value in response.headers}
            if received.get("content-encoding", "identity").strip().lower() != "identity":
                raise ServiceError(f"{request.url} sent a compressed answer. Make it honour Accept-Encoding.")
            return Answer(response.status, received, await self._body(request, response))

    async def _body(self, request: Request, response: httpcore.Response) -> bytes:
        body = bytearray()
        async for part in response.aiter_stream():
            body += part
            if len(body) > MOST_BYTES:
                raise ServiceError(
                    f"{request.url} sent more than {MOST_BYTES:,} bytes. Make it answer with the reply only."
                )
        return bytes(body)

    def _parsed(self, request: Request, answer: Answer) -> Any:
        excerpt = self._without_secrets(answer.body[:300].decode("utf-8", "replace"))
        if 300 <= answer.status < 400:
            target = self._without_secrets(answer.headers.get("location", "nowhere"))
            raise ServiceError(
                f"{request.url} redirects to {target}, which is not followed. If you trust it, give that URL."
            )
        if not 200 <= answer.status < 300:
            raise ServiceError(
                f"{request.url} answered {_status(answer.status)}: {excerpt or 'nothing more'}"
            )
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise ServiceError(f"{request.url} did not answer with JSON: {excerpt or 'nothing'}") from None

    def _without_secrets(self, text: str) -> str:
        for secret in self._hidden:
            text = text.replace(secret, "(hidden)")
        return text


def pause_before_retry(answer: Answer, attempt: int, draw: Callable[[], float] = random.random) -> float:
    """Seconds to wait before the next attempt.

    The service's Retry-After, else 0.5 s doubled with each attempt; plus a random part, so that many callers
    do not return together.

    Args:
        answer: with its headers.
        attempt: number of failed attempts before.
        draw: a random number in [0, 1).
    """
    requested = _retry_after(answer.headers.get("retry-after", ""))
    pause = 0.5 * 2**attempt if requested is None else requested
    return pause + draw() * max(0.25, pause / 2 if requested is None else 0.0)


def _retry_after(value: str) -> float | None:
    """Parse Retry-After, a number of seconds or a date; None if it is neither."""
    if value.strip().isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    except (ValueError, TypeError):
        return None


def _is_passing(status: int) -> bool:
    """True if the same request may succeed a little later."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= 500


def _with_query(url: str, query: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}" if query else url


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
