"""Connections to addresses that were checked after their name had been resolved."""

import asyncio
import socket
from collections.abc import Iterable
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
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            raise httpcore.ConnectError(f"the name {host} cannot be resolved: {error}") from None
        addresses = [str(entry[4][0]) for entry in found]
        for address in addresses:
            check_address(host, address)
        return list(dict.fromkeys(addresses))
