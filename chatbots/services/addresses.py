"""Allowed addresses of services (public ones, and an admin's networks), and API keys.

Anyone who registers a bot makes this machine send requests. Without a rule they could reach what only this
machine may reach: databases, other people's services, a cloud's metadata. So an address is checked after its
name has been resolved, in binary form, whatever its notation.

API keys are written into a field that is never shown again, or kept in the environment of the host.
"""

import os
import socket
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from urllib.parse import urlsplit

from chatbots.errors import ChatbotError, ForbiddenAddressError

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address

_NAT64 = ip_network("64:ff9b::/96")
_NAT64_LOCAL = ip_network("64:ff9b:1::/48")


def allowed_networks() -> list[Network]:
    """Parse TURNWISE_ALLOWED_NETWORKS, as in `127.0.0.0/8,10.1.0.0/16,::1/128`.

    Raises:
        ForbiddenAddressError: an entry is not a network; a typing error thus allows nothing.
    """
    value = os.environ.get("TURNWISE_ALLOWED_NETWORKS", "")
    try:
        return [ip_network(part.strip()) for part in value.split(",") if part.strip()]
    except ValueError as error:
        raise ForbiddenAddressError(
            f"TURNWISE_ALLOWED_NETWORKS={value}: {error}. Write networks as 10.1.0.0/16, separated by commas."
        ) from None


def check_address(host: str, address: str) -> None:
    """Refuse an address that is neither public nor allowed.

    Args:
        host: as in the URL, for the message.
        address: address of the host, as the system's resolver writes it.

    Raises:
        ForbiddenAddressError: the address is neither.
    """
    inner = _innermost(ip_address(address.partition("%")[0]))
    if is_public(inner) or any(inner in network for network in allowed_networks()):
        return
    where = host if host == str(inner) else f"{host} ({inner})"
    raise ForbiddenAddressError(
        f"{where} is not an address of the public internet. If Turnwise may connect to it, an admin adds its "
        f"network to TURNWISE_ALLOWED_NETWORKS, such as {ip_network(inner)}, and starts Turnwise again."
    )


def is_public(address: Address) -> bool:
    """True if any machine of the internet could have this address."""
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    if isinstance(address, IPv6Address) and (address.is_site_local or address in _NAT64_LOCAL):
        return False
    return address.is_global and not special


def _innermost(address: Address) -> Address:
    """Return the IPv4 address inside an IPv6 one, if any: packets end up there."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address


def check_url(url: str) -> str:
    """Refuse a URL that cannot be a service's, as far as can be checked without resolving its name.

    Returns:
        The URL, unchanged.

    Raises:
        ValueError: no http or https, no host, a password inside, a fragment, a control character, or an
            address that is neither public nor allowed.
    """
    parts = urlsplit(url)
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("has spaces or characters outside of ASCII. Write them as %20 and the like")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not an address of a service. Write it as https://host/path")
    if parts.username is not None or parts.password is not None:
        raise ValueError("has a name or password inside. Leave them out and use the setting for the key")
    if parts.fragment or parts.port == 0:
        raise ValueError("has a fragment or port 0. Leave them out")
    _check_literal(parts.hostname)
    return url


def _check_literal(host: str) -> None:
    try:
        address = _literal(host)
        if address:
            check_address(host, address)
    except ForbiddenAddressError as error:
        raise ValueError(str(error)) from None


def _literal(host: str) -> str | None:
    """Parse a host that is an address in any notation of the system (127.1, 0x7f.1, 2130706433); or None."""
    try:
        return str(ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    try:
        return socket.inet_ntoa(socket.inet_aton(host))
    except OSError:
        return None


PREFIX = "TURNWISE_BOT_"
"""Required prefix of variables that a configuration may name, so that other secrets stay out of reach."""

OURS = frozenset({"TURNWISE_BOT_PATH", "TURNWISE_BOT_DEADLINE", "TURNWISE_BOT_MEMORY_GB"})
"""Settings of Turnwise with that prefix, which are no keys."""


class MissingKeyError(ChatbotError):
    """The variable of the environment holds no key that may be sent to this service."""


def key_of_environment(variable: str, url: str) -> str:
    """Return the key in a variable of this process's environment.

    The variable holds the only address that may get the key, and the key: `https://api.example.org sk-123`.
    So no user can send an admin's key to a server of their own.

    Args:
        variable: a name that begins with `TURNWISE_BOT_`.
        url: url of the service.

    Raises:
        MissingKeyError: the variable is not set here, holds no key, or is for another address.
    """
    *origin, key = os.environ.get(variable, "").split() or [""]
    if not key:
        raise MissingKeyError(f"{variable} is not set where the bot is loaded. Set it there and restart.")
    try:
        check_key(key)
    except ValueError as error:
        raise MissingKeyError(f"{variable} {error}.") from None
    if not origin:
        raise MissingKeyError(
            f"{variable} does not say who may get the key. Write the service's address before it, as in "
            f"{variable}='https://api.example.org the-key'."
        )
    if origin_of(origin[0]) != origin_of(url):
        raise MissingKeyError(
            f"{variable} is kept for {origin[0]} and is not sent to {url}. Use another variable."
        )
    return key


def check_variable(variable: str) -> str:
    """Refuse a variable that is a setting of Turnwise.

    Returns:
        The variable, unchanged.

    Raises:
        ValueError: the variable is such a setting.
    """
    if variable in OURS:
        raise ValueError("is a setting of Turnwise, not a key. Keep the key in a variable of its own")
    return variable


def check_key(key: str) -> str:
    """Refuse text that cannot be a key: sending it would fail with an error that shows it.

    Returns:
        The key, unchanged.

    Raises:
        ValueError: the key has a space, a line break or another character outside of visible ASCII.
    """
    if not all("!" <= character <= "~" for character in key):
        raise ValueError("has a space, a line break or a letter that no key has. Copy it again")
    return key


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Return scheme, host and port of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
