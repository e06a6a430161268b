"""Connections to addresses that were checked after their name had been resolved, kept for further requests.

The pool of httpcore looks at every connection for every request, twice; with 64 requests at once that took
40 ms of processor time for each.
"""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any

import httpcore

from chatbots.services.addresses import check_address


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
            entries = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the name {host} cannot be resolved: {error}") from None
        addresses = [str(entry[4][0]) for entry in entries]
        for address in addresses:
            check_address(host, address)
        return list(dict.fromkeys(addresses))


KEPT_SECONDS = 30.0
"""Time after which an unused connection is closed."""


class ConnectionPool:
    """Connections to a service: at most so many at once, the one used last is used first.

    Args:
        most: largest number of connections at once; further requests wait.
        verify: how certificates are verified; None: by the system's and certifi's authorities.
    """

    def __init__(self, most: int, verify: ssl.SSLContext | None = None) -> None:
        self._verify = verify
        self._places = asyncio.Semaphore(most)
        self._network = CheckedNetwork()
        self._idle: dict[str, list[httpcore.AsyncHTTPConnection]] = {}

    async def send(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request and receive the head of its response; closing the response frees its connection.

        Raises:
            ForbiddenAddressError: the service's address is not allowed.
            httpcore.NetworkError, httpcore.ProtocolError: the connection broke.
        """
        await self._places.acquire()
        origin = request.url.origin
        try:
            connection = await self._idle_connection(origin) or self._new_connection(origin)
        except BaseException:
            self._places.release()
            raise
        try:
            response = await connection.handle_async_request(request)
        except BaseException:
            await self._release(origin, connection)
            raise

        async def release() -> None:
            await self._release(origin, connection)

        body = _Body(response.stream, release)
        return httpcore.Response(
            response.status, headers=response.headers, content=body, extensions=response.extensions
        )

    async def close(self) -> None:
        """Close the connections that are not in use."""
        idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                await connection.aclose()

    async def _idle_connection(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection | None:
        """Take the idle connection that was used last; those that the service has closed are dropped."""
        idle = self._idle.get(str(origin), [])
        while idle:
            connection = idle.pop()
            if connection.is_available() and not connection.has_expired():
                return connection
            await connection.aclose()
        return None

    def _new_connection(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection:
        if origin.scheme == b"https" and self._verify is None:
            self._verify = httpcore.default_ssl_context()  # reads some hundred certificates
        return httpcore.AsyncHTTPConnection(
            origin, self._verify, keepalive_expiry=KEPT_SECONDS, network_backend=self._network
        )

    async def _release(self, origin: httpcore.Origin, connection: httpcore.AsyncHTTPConnection) -> None:
        """Keep a connection that can be used again, close any other."""
        try:
            if connection.is_idle() and not connection.is_closed():
                self._idle.setdefault(str(origin), []).append(connection)
            else:
                await connection.aclose()
        finally:
            self._places.release()


class _Body:
    """The body of a response, whose end or closing frees the connection once."""

    def __init__(self, stream: Any, release: Callable[[], Awaitable[None]]) -> None:
        self._stream, self._release = stream, release
        self._is_open = True

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield part

    async def aclose(self) -> None:
        if self._is_open:
            self._is_open = False
            try:
                await self._stream.aclose()
            finally:
                await self._release()
