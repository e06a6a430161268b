"""JSON Pointer: one place in a JSON document.

Source: RFC 6901.
"""

import re
from typing import Any


def check_pointer(pointer: str) -> str:
    """Refuse what is no JSON Pointer.

    Returns:
        The pointer, unchanged.

    Raises:
        ValueError: it does not begin with a slash, or has a tilde that escapes nothing.
    """
    if pointer and not re.fullmatch(r"(/([^~/]|~[01])*)+", pointer):
        raise ValueError("is not a JSON Pointer. Write the path to the reply as /answers/0/text")
    return pointer


def at_pointer(document: Any, pointer: str) -> Any:
    """The value at a place.

    Args:
        document: parsed JSON.
        pointer: as `check_pointer` lets pass; the empty one is the whole document.

    Raises:
        LookupError: there is no such place; says how far the path led.
    """
    value, passed = document, ""
    for escaped in pointer.split("/")[1:]:
        name = escaped.replace("~1", "/").replace("~0", "~")
        passed += f"/{escaped}"
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and re.fullmatch(r"0|[1-9][0-9]{0,8}", name) and int(name) < len(value):
            value = value[int(name)]
        else:
            raise LookupError(f"there is no {passed}")
    return value
