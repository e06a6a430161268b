"""The conversations of the package `chitchat-dataset` (PyPI, MIT) as lines that a corpus is built from.

Its `dataset.json` maps an id to a conversation, whose `messages` are turns: lists of what one person wrote in
a row, each with `text` and `sender`. It is read out of the wheel, which need not be installed.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

INSIDE = "chitchat_dataset/dataset.json"
"""Where the wheel has it."""


class ChitchatError(ValueError):
    """A file that is not the data of chitchat-dataset; says what is missing."""


def conversations(path: Path) -> Iterator[dict[str, Any]]:
    """The conversations, in the order of the file; what one person wrote in a row is one turn.

    Args:
        path: the wheel, or its `dataset.json`.

    Raises:
        ChitchatError: neither of them.
    """
    try:
        for identity, talk in json.loads(_read(path)).items():
            turns = [_turn(messages) for messages in talk["messages"] if messages]
            if turns:
                yield {"id": f"chitchat-{identity}", "turns": turns}
    except (ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ChitchatError(f"{path} is not the data of chitchat-dataset: {error!r:.120}.") from error


def _read(path: Path) -> bytes:
    if path.suffix != ".whl":
        return path.read_bytes()
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(INSIDE)


def _turn(messages: list[dict[str, str]]) -> dict[str, str]:
    texts = (" ".join(message["text"].split()) for message in messages)
    return {"author": messages[0]["sender"], "text": " ".join(filter(None, texts))}
