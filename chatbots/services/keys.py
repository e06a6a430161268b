"""API keys: written into a field that nothing shows again, or kept in the environment of the host."""

import os
from urllib.parse import urlsplit

from chatbots.errors import ChatbotError

PREFIX = "TURNWISE_BOT_"
"""How the names of variables begin that a configuration may refer to: other people's secrets do not."""

OURS = frozenset({"TURNWISE_BOT_PATH", "TURNWISE_BOT_DEADLINE", "TURNWISE_BOT_MEMORY_GB"})
"""Settings of Turnwise that begin so too, and are no keys."""


class MissingKeyError(ChatbotError):
    """The variable of the environment holds no key that may be sent to this service."""


def key_of_environment(variable: str, url: str) -> str:
    """The key in a variable of this process's environment.

    The variable holds the address that alone may get it, and the key: `https://api.example.org sk-123`. So
    nobody can have an admin's key sent to a server of their own.

    Args:
        variable: a name that begins with `TURNWISE_BOT_`.
        url: of the service.

    Raises:
        MissingKeyError: it is not set here, holds no key, or is kept for another address.
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
        ValueError: it is one.
    """
    if variable in OURS:
        raise ValueError("is a setting of Turnwise, not a key. Keep the key in a variable of its own")
    return variable


def check_key(key: str) -> str:
    """Refuse what cannot be a key: it could not be sent, and the error of the attempt would show it.

    Returns:
        The key, unchanged.

    Raises:
        ValueError: it has a space, a line break or another character outside of visible ASCII.
    """
    if not all("!" <= character <= "~" for character in key):
        raise ValueError("has a space, a line break or a letter that no key has. Copy it again")
    return key


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
