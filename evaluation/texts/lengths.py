"""Longest texts of this installation: the one place that bounds replies of bots and messages of people.

Both are environment variables, so that web servers, hosts of bots and readers of files agree on them. A study
may set lower limits. Columns of the database have no limit of their own.
"""

import os

MAX_LIMIT = 200_000
"""Largest limit that can be set, in code points."""


def limit_from_environment(name: str, default: int) -> int:
    """Read a limit in code points from an environment variable.

    Args:
        name: of the variable; unset or empty: the default.
        default: the limit of installations that set nothing.

    Returns:
        A number from 100 to `MAX_LIMIT`.

    Raises:
        ValueError: the value is no such number.
    """
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and len(value) < 10 and 100 <= int(value) <= MAX_LIMIT):
        raise ValueError(f"{name} is “{value[:40]}”. Give whole characters, from 100 to {MAX_LIMIT:,}.")
    return int(value)


MAX_REPLY_CHARS = limit_from_environment("TURNWISE_MAX_REPLY_CHARS", 32_000)
"""Longest reply of a bot in code points. Imports, contexts, responses and reading material share it."""

MAX_MESSAGE_CHARS = limit_from_environment("TURNWISE_MAX_MESSAGE_CHARS", 8_000)
"""Longest text that a person writes in one go, in code points."""

MAX_TURN_CHARS = max(MAX_REPLY_CHARS, MAX_MESSAGE_CHARS)
"""Longest turn in code points, whoever wrote it."""
