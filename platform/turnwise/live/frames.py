"""Frames: the JSON objects that sockets and pages send to each other."""

import json
from collections.abc import Awaitable, Callable, Collection
from typing import Any
from uuid import UUID

import orjson

from turnwise.live.refusals import RefusedError

Frame = dict[str, Any]
Tell = Callable[[Frame], Awaitable[None]]

# A frame is a message of at most 4,000 characters, each of which JSON may write as twelve, and little else.
MAX_FRAME = 60_000

_encode_anything = json.JSONEncoder(separators=(",", ":")).encode


def as_json(value: Any) -> str:
    """The value as JSON. Each turn writes three of them; the standard library takes ten times as long."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, a number beyond 64 bits, a named tuple
        return _encode_anything(value)


def parse_frame(text: str | None, types: Collection[str]) -> Frame:
    """The frame, an object of a known type.

    Raises:
        RefusedError: not_json, too_long or unknown_type.
    """
    if text is None:
        raise RefusedError("not_json")
    if len(text) > MAX_FRAME:
        raise RefusedError("too_long")
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or a number of thousands of digits
        raise RefusedError("not_json") from None
    if not isinstance(frame, dict):
        raise RefusedError("not_json")
    if not isinstance(frame.get("type"), str) or frame["type"] not in types:
        raise RefusedError("unknown_type")
    return frame


def field(frame: Frame, name: str, kind: type) -> Any:
    """A field of the expected kind. A boolean is not a number here.

    Raises:
        RefusedError: malformed.
    """
    value = frame.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RefusedError("malformed")
    return value


def uuid_field(frame: Frame, name: str) -> UUID:
    try:
        return UUID(field(frame, name, str))
    except ValueError:
        raise RefusedError("malformed") from None
