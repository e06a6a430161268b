"""Records of JSON Lines, JSON documents and Parquet files, one at a time with their lines or row numbers."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from turnwise.transcripts.importers.formats import Problem, Source, UnreadableError
from turnwise.transcripts.importers.json_lines import DECODER, objects, skip_space

Record = tuple[int, dict[str, Any]]

_KEY = re.compile(r'"((?:[^"\\]|\\.){1,60})"\s*:')


def records(source: Source) -> Iterator[Record | Problem]:
    """Yield each object of a file: of JSON Lines, of a JSON array or several documents, or of Parquet.

    Raises:
        UnreadableError: a document is not JSON from some line on, or a packed file is damaged or too large.
    """
    if source.is_parquet:
        yield from source.parquet_records()
        return
    first = source.first_line().strip()
    if first.startswith("[") or first == "{":
        yield from _documents(source.text())
    else:
        yield from objects(source)


def _documents(text: str) -> Iterator[Record | Problem]:
    position, line, counted = 0, 1, 0
    in_array = False
    while True:
        position = skip_space(text, position)
        if position >= len(text):
            return
        if text[position] in "[,]" and (text[position] == "[") != in_array:
            in_array = text[position] != "]"
            position += 1
            continue
        line, counted = line + text.count("\n", counted, position), position
        try:
            value, position = DECODER.raw_decode(text, position)
        except json.JSONDecodeError as error:
            at = 1 + text.count("\n", 0, error.pos)
            raise UnreadableError(at, f"This is not JSON: {error.msg}.") from error
        except (ValueError, RecursionError) as error:
            raise UnreadableError(line, f"This is not JSON: {str(error)[:200]}.") from error
        if isinstance(value, dict):
            yield line, value
        else:
            yield Problem(line, "This is not a JSON object. Each conversation must be one, in braces.")


@lru_cache(maxsize=2)
def first_record(head: str) -> dict[str, Any]:
    """First object of a file's beginning; {} if there is none.

    If the object is longer than the beginning, it has the keys that can be seen, without values.
    """
    head = head.removeprefix("\ufeff").lstrip()
    begins = head[1:].lstrip() if head.startswith("[") else head
    if not begins.startswith("{"):
        return {}
    try:
        value, _ = DECODER.raw_decode(begins)
    except (ValueError, RecursionError):
        first = begins.split("\n{", 1)[0]
        return dict.fromkeys(_KEY.findall(first))
    return value if isinstance(value, dict) else {}


def has_list(head: str, key: str, *inner: str) -> bool:
    """True if the first record has a list of objects under this key whose first has the inner keys."""
    record = first_record(head)
    if key not in record:
        return False
    value = record[key]
    if value is None:  # longer than the beginning, or no list
        return all(each in record for each in inner)
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and all(each in first for each in inner)
