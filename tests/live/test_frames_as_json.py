"""Frames as JSON: what is written is read as the standard library would."""

import json
from typing import NamedTuple

import pytest

from turnwise.live.frames import as_json


class Named(NamedTuple):
    position: int
    text: str


@pytest.mark.parametrize(
    "value",
    [
        {"type": "turn", "turn": {"text": 'He said: "hé" \u2028 \x00 你好 😀', "id": None}},
        {"a": [1, 2.5, True, None, -(10**15)], "b": {"c": []}, "tuple": (1, 2)},
        {"lone surrogate": "\ud83d"},
        {"beyond 64 bits": 2**70},
        {1: "a key that is not text"},
        [Named(3, "as a list")],
    ],
)
def test_it_reads_back_as_what_the_standard_library_writes(value: object) -> None:
    assert json.loads(as_json(value)) == json.loads(json.dumps(value))


def test_what_no_json_can_say_is_refused() -> None:
    with pytest.raises(TypeError):
        as_json({"what": object()})
