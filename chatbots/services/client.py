"""One HTTP exchange with a service: bounded in time and bytes, to the checked address.

It follows no redirect, uses no proxy of the environment, accepts no compressed answer (its size could not be
bounded), and verifies the certificate of an https address.
"""

import asyncio
import json
import math
import random
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from time import time
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpcore

from chatbots.errors import RateLimitWaitError, ServiceError
from chatbots.services.network import ConnectionPool
from chatbots.services.rate_limits import RateLimit

MOST_BYTES = 1_000_000
"""Longest accepted answer, in bytes."""

MOST_STREAM_BYTES = 8_000_000
"""Longest accepted stream, in bytes: each token comes in an event of some hundred bytes."""


class StatusError(ServiceError):
    """A service answered with a status that is not 2xx.

    Attributes:
        status: of HTTP.
        body: the answer, at most `MOST_BYTES`; never shown whole.
    """

    def __init__(self, message: str, status: int, body: bytes) -> None:
        super().__init__(message)
        self.status, self.body = status, body


class TooManyBytesError(ServiceError):
    """A service sent more than is accepted."""


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
        tokens: expected tokens of prompt and reply, for the rate limit.
    """

    url: str
    method: str = "POST"
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: Any = None
    tokens: float = 0.0


BROKEN = (httpcore.NetworkError, OSError)
"""Errors of a connection that was refused, reset or closed."""


class ByteStream:
    """The body of a service's answer while it is received.

    Args:
        request: for messages.
        response: of the connection, with its head received.
    """

    def __init__(self, request: Request, response: httpcore.Response) -> None:
        self._request, self._response = request, response
        self.headers: Mapping[str, str] = {
            name.decode().lower(): value.decode("latin-1") for name, value in response.headers
        }

    async def parts(self, most: int = MOST_STREAM_BYTES) -> AsyncIterator[bytes]:
        """Yield the bytes as they come.

        Raises:
            TooManyBytesError: there are more than `most`.
            ServiceError: the connection broke.
        """
        received = 0
        try:
            async for part in self._response.aiter_stream():
                received += len(part)
                if received > most:
                    raise TooManyBytesError(
                        f"{self._request.url} sent more than {most:,} bytes. Make it answer with the reply "
                        "only."
                    )
                yield part
        except (*BROKEN, httpcore.ProtocolError) as error:
            raise _broken(self._request, error) from None

    async def body(self) -> bytes:
        """Read the whole body, at most `MOST_BYTES`.

        Raises:
            TooManyBytesError: it is longer.
        """
        return b"".join([part async for part in self.parts(MOST_BYTES)])


class Client:
    """Exchanges JSON with one service. Belongs to the event loop in which it is used.

    Args:
        timeout: seconds for one exchange, all its attempts and pauses included.
        retries: further attempts after status 408, 429 or 5xx. A request whose connection broke before an
            answer began is repeated once besides.
        connections: largest number at once.
        hidden: texts that must not appear in messages, such as keys.
        verify: how certificates are verified; default: by the system's and certifi's authorities.
        rate_limit: the service's limits; None without.
    """

    def __init__(
        self,
        *,
        timeout: float,
        retries: int = 0,
        connections: int = 16,
        hidden: Iterable[str] = (),
        verify: ssl.SSLContext | None = None,
        rate_limit: RateLimit | None = None,
    ) -> None:
        self.timeout, self.retries = timeout, retries
        self._hidden = [text for text in hidden if text]
        self.rate_limit = rate_limit
        self._pool = ConnectionPool(connections, verify)

    async def exchange(self, request: Request) -> Any:
        """Send a request and read the JSON of its answer.

        Returns:
            The parsed JSON.

        Raises:
            ServiceError: no answer in time, a status that is not 2xx (`StatusError`), an answer too long, or
                no JSON.
            ForbiddenAddressError: the service's address is not allowed.
        """
        async with self.stream(request) as answer:
            body = await answer.body()
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            excerpt = self._excerpt(body)
            raise ServiceError(f"{request.url} did not answer with JSON: {excerpt or 'nothing'}") from None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[ByteStream]:
        """Send a request and open the body of its answer, whose status is 2xx.

        The time limit covers the block as well. Errors of the connection inside it become `ServiceError`, and
        keys are hidden in the messages of a `ServiceError` that the block raises.

        Raises:
            ServiceError: as `exchange`.
            ForbiddenAddressError: the service's address is not allowed.
        """
        with self._in_words(request):
            async with asyncio.timeout(self.timeout) as limit:
                response = await self._accepted(request, limit)
                async with aclosing(response):
                    yield ByteStream(request, response)

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.close()

    @contextmanager
    def _in_words(self, request: Request) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise ServiceError(
                f"{request.url} did not answer within {self.timeout:g} s. Check that it runs, or raise "
                "timeout."
            ) from None
        except (*BROKEN, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            broken = _broken(request, error)
            raise ServiceError(self._without_secrets(str(broken))) from None
        except ServiceError as error:
            error.args = tuple(map(self._without_secrets, map(str, error.args)))
            raise

    async def _accepted(self, request: Request, limit: asyncio.Timeout) -> httpcore.Response:
        """Repeat the request until its status is 2xx, or the attempts or the time are used up."""
        for attempt in range(self.retries + 1):
            await self._wait_for_rate_limit(request, limit)
            response = await self._begun(request)
            if 200 <= response.status < 300:
                return response
            async with aclosing(response):
                stream = ByteStream(request, response)
                answer = Answer(response.status, stream.headers, await stream.body())
            pause = pause_before_retry(answer, attempt)
            ends = limit.when() or 0.0
            is_last = attempt == self.retries or asyncio.get_running_loop().time() + pause >= ends
            if not _is_passing(answer.status) or is_last:
                break
            await asyncio.sleep(pause)
        raise self._status_error(request, answer)

    async def _wait_for_rate_limit(self, request: Request, limit: asyncio.Timeout) -> None:
        """Wait until the service's rate limit allows the request.

        Raises:
            RateLimitWaitError: that is later than the request's time limit; nothing was sent.
        """
        if self.rate_limit is None:
            return
        wait = await self.rate_limit.take(request.tokens)
        left = (limit.when() or math.inf) - asyncio.get_running_loop().time()
        if wait < left:
            try:
                await asyncio.sleep(wait)
            except asyncio.CancelledError:
                await self.rate_limit.give_back(request.tokens)
                raise
            return
        await self.rate_limit.give_back(request.tokens)
        raise RateLimitWaitError(
            f"{request.url} was not asked: its rate limit is used up for {wait:.0f} s. Raise the limit if "
            "the service allows more, or let fewer people in at the same time."
        )

    async def _begun(self, request: Request) -> httpcore.Response:
        """Receive the head of the answer; repeat the request once if none came, or the service timed out.

        A service may close a connection that was kept open at the moment when the next request is sent.
        """
        try:
            response = await self._sent(request)
        except (*BROKEN, httpcore.RemoteProtocolError):
            return await self._sent(request)
        if response.status != HTTPStatus.REQUEST_TIMEOUT:
            return response
        await response.aclose()
        return await self._sent(request)

    async def _sent(self, request: Request) -> httpcore.Response:
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
        response = await self._pool.send(
            httpcore.Request(request.method, url, headers=[*headers.items()], content=body)
        )
        encoding = ByteStream(request, response).headers.get("content-encoding", "identity")
        if encoding.strip().lower() != "identity":
            await response.aclose()
            raise ServiceError(f"{request.url} sent a compressed answer. Make it honour Accept-Encoding.")
        return response

    def _status_error(self, request: Request, answer: Answer) -> StatusError:
        if 300 <= answer.status < 400:
            target = answer.headers.get("location", "nowhere")
            did = f"redirects to {target}, which is not followed. If you trust it, give that URL."
        else:
            did = f"answered {_status(answer.status)}: {self._excerpt(answer.body) or 'nothing more'}"
        return StatusError(f"{request.url} {did}", answer.status, answer.body)

    def _excerpt(self, body: bytes) -> str:
        return self._without_secrets(body.decode("utf-8", "replace"))[:300]

    def _without_secrets(self, text: str) -> str:
        for secret in self._hidden:
            text = text.replace(secret, "(hidden)")
        return text


def pause_before_retry(answer: Answer, attempt: int, draw: Callable[[], float] = random.random) -> float:
    """Seconds to wait before the next attempt.

    The service's Retry-After-Ms or Retry-After, else 0.5 s doubled with each attempt; plus a random part, so
    that many callers do not return together.

    Args:
        answer: with its headers.
        attempt: number of failed attempts before.
        draw: a random number in [0, 1).
    """
    requested = _requested_pause(answer.headers)
    pause = 0.5 * 2**attempt if requested is None else requested
    return pause + draw() * max(0.25, pause / 2 if requested is None else 0.0)


_NUMBER = re.compile(r"\d{1,9}(\.\d*)?")


def _requested_pause(headers: Mapping[str, str]) -> float | None:
    """Seconds that the service asks for: in milliseconds, seconds or as a date; None if it does not."""
    milliseconds = headers.get("retry-after-ms", "").strip()
    if _NUMBER.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    value = headers.get("retry-after", "").strip()
    if _NUMBER.fullmatch(value):
        return float(value)
    with suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time())
    return None


def _is_passing(status: int) -> bool:
    """True if the same request may succeed a little later."""
    return status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS) or status >= 500


def _broken(request: Request, error: Exception) -> ServiceError:
    why = str(error) or type(error).__name__
    return ServiceError(
        f"{request.url} broke the connection or took none: {why}. Check that it runs and that the address is "
        "right."
    )


def _with_query(url: str, query: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(query)}" if query else url


def _status(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
