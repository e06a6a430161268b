"""Headers and parameters of requests that a configuration may add."""

import re
from collections.abc import Mapping

HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,100}")
_HOLD_KEYS = frozenset({"authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key"})
_SECRET_WORDS = re.compile(r"(^|[-_])(key|apikey|token|secret|password|signature|sig|auth)($|[-_])")
_OF_CONNECTION = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "cookie"}
)
_CURE = "which everybody would see here. Use api_key or api_key_variable"


def check_headers(headers: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse headers that cannot be sent, belong to the connection, or hold a key.

    Returns:
        The headers, unchanged.

    Raises:
        ValueError: one of them is such a header.
    """
    for name, value in headers.items():
        if not HEADER_NAME.fullmatch(name) or not value.isascii() or not value.isprintable():
            raise ValueError(f"'{name}' or its value has characters that a header cannot have")
        if name.lower() in _OF_CONNECTION:
            raise ValueError(f"'{name}' is set by the connection. Leave it out")
        if name.lower() in _HOLD_KEYS or _SECRET_WORDS.search(name.lower()):
            raise ValueError(f"'{name}' holds a key, {_CURE}, with the header's name in key_header")
    return headers


def check_query(query: Mapping[str, str]) -> Mapping[str, str]:
    """Refuse parameters of a URL that hold a key.

    Returns:
        The parameters, unchanged.

    Raises:
        ValueError: one of them holds a key by its name.
    """
    for name in query:
        if _SECRET_WORDS.search(name.lower()):
            raise ValueError(f"'{name}' holds a key, {_CURE}")
    return query
