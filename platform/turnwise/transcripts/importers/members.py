"""Objects of JSON, one after another, member by member: each is decoded when it is reached."""

import json
import re
from collections.abc import Generator, Iterator
from typing import Any

from turnwise.transcripts.importers.source import UnreadableError

_SPACE = re.compile(r"\s*")
_DECODER = json.JSONDecoder()

Member = tuple[int, str, Any]
"""Line within its object's own file, key, value."""


def members(text: str) -> Iterator[Member]:
    """The members of each outermost object.

    Raises:
        UnreadableError: where it is no JSON, or no object.
    """
    position = _skip(text, 0)
    while True:
        position = yield from _members_of(text, position)
        if position >= len(text):
            return


def _members_of(text: str, begins: int) -> Generator[Member, None, int]:
    """Those of the object that begins there; returns where the next one does."""
    position = _after(text, begins, begins, "{")
    line, counted = 1, begins
    while not text.startswith("}", position):
        line += text.count("\n", counted, position)
        counted = position
        key, position = _decoded(text, begins, position)
        if not isinstance(key, str):
            raise UnreadableError(line, "Here the id of a conversation is missing, in quotes.")
        value, position = _decoded(text, begins, _after(text, begins, _skip(text, position), ":"))
        yield line, key, value
        position = _skip(text, position)
        if not text.startswith("}", position):
            position = _after(text, begins, position, ",")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _after(text: str, begins: int, position: int, mark: str) -> int:
    if not text.startswith(mark, position):
        raise UnreadableError(
            _line(text, begins, position), f"Here a “{mark}” is missing: this is not a JSON object by id."
        )
    return _skip(text, position + 1)


def _decoded(text: str, begins: int, position: int) -> tuple[Any, int]:
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise UnreadableError(_line(text, begins, error.pos), f"This is not JSON: {error.msg}.") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(
            _line(text, begins, position), f"This is not JSON: {str(error)[:200]}"
        ) from error


def _line(text: str, begins: int, position: int) -> int:
    return 1 + text.count("\n", begins, position)
