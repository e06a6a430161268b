"""Whether settings can be stored as they are, told before anything is."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chatbots.errors import Problem

MOST_CHARS = 500_000
"""Longest configuration, in characters of its JSON."""

DEEPEST = 40
"""So many objects and lists may stand inside each other, as do the settings of bots around bots."""

# PostgreSQL holds neither null characters nor halves of surrogate pairs.
_UNFIT = re.compile("[\x00\ud800-\udfff]")


def unstorable(settings: Mapping[str, Any]) -> list[Problem]:
    """Why these settings cannot be stored: characters, numbers, depth, length. Shows no value whole."""
    problems = list(_unfit(settings, ()))
    if not problems and (length := len(json.dumps(settings, default=str))) > MOST_CHARS:
        cure = f"is too long. Shorten the settings to {MOST_CHARS:,} characters"
        problems = [Problem("configuration", f"{length:,} characters", cure)]
    return problems


def _unfit(value: Any, place: tuple[str, ...]) -> Iterator[Problem]:
    field = ".".join(place) or "configuration"
    if len(place) > DEEPEST:
        field = f"{'.'.join(place[:3])}…"
        yield Problem(field, "(nested)", f"is nested more than {DEEPEST} deep. Take some layers away")
    elif isinstance(value, str):
        if found := _UNFIT.search(value):
            yield Problem(field, ascii(found[0]), "is a character that cannot be stored. Remove it")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Problem(field, str(value), "is not a number that can be stored. Give a finite one")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _unfit(str(name), (*place, "(name)"))
            yield from _unfit(part, (*place, ascii(name)[1:-1] if _UNFIT.search(str(name)) else str(name)))
    elif isinstance(value, Sequence):
        for number, part in enumerate(value):
            yield from _unfit(part, (*place, str(number)))
