"""Conversation files of Topical-Chat (github.com/alexa/Topical-Chat, README.md): one JSON object by id.

{"t_1": {"article_url": …, "config": "A", "content": [{"agent": "agent_1", "message": "Hi!", …}, …],
         "conversation_rating": {"agent_1": "Good", "agent_2": "Excellent"}}, …}
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from transcripts.importers.formats import Conversation, Problem, importer
from transcripts.importers.json_lines import conversation, said
from transcripts.importers.source import Source, UnreadableError

_SPACE = re.compile(r"\s*")


def _looks_like(head: str) -> bool:
    return bool(re.match(r'\{\s*"[^"]{1,200}"\s*:\s*\{\s*"(article_url|config|content)"', head))


@importer("topical-chat", title="Topical-Chat conversations (JSON)", looks_like=_looks_like)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Each member of the object is a conversation. Details keep its article, configuration and ratings."""
    for line, id_, value in _members(source.text()):
        content = value.get("content") if isinstance(value, dict) else None
        if not isinstance(content, list):
            yield Problem(line, f"“{id_[:60]}” has no list “content”.")
            continue
        turns = [said(each, speaker="agent", text="message", line=line) for each in content]
        yield conversation(id_[:200], line, turns, **_details(value))


def _details(value: dict[str, Any]) -> dict[str, str]:
    ratings = value.get("conversation_rating")
    named = (
        {f"rating by {agent}": rating for agent, rating in ratings.items()}
        if isinstance(ratings, dict)
        else {}
    )
    kept = {key: value[key] for key in ("article_url", "config") if key in value} | named
    return {str(key)[:60]: str(each)[:500] for key, each in list(kept.items())[:10]}


def _members(text: str) -> Iterator[tuple[int, str, Any]]:
    """The members of the outermost object: line, key, value; each is decoded when it is reached."""
    decoder, position, line = json.JSONDecoder(), _after(text, _skip(text, 0), "{"), 1
    counted = 0
    while not text.startswith("}", position):
        line += text.count("\n", counted, position)
        counted = position
        key, position = _decoded(decoder, text, position)
        if not isinstance(key, str):
            raise UnreadableError(line, "Here the id of a conversation is missing, in quotes.")
        value, position = _decoded(decoder, text, _after(text, _skip(text, position), ":"))
        yield line, key, value
        position = _skip(text, position)
        if not text.startswith("}", position):
            position = _after(text, position, ",")


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _after(text: str, position: int, mark: str) -> int:
    if not text.startswith(mark, position):
        raise UnreadableError(
            _line(text, position), f"Here a “{mark}” is missing: this is no JSON object by id."
        )
    return _skip(text, position + 1)


def _decoded(decoder: json.JSONDecoder, text: str, position: int) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, position)
    except json.JSONDecodeError as error:
        raise UnreadableError(error.lineno, f"This is no JSON: {error.msg}.") from error
    except (ValueError, RecursionError) as error:
        raise UnreadableError(_line(text, position), f"This is no JSON: {str(error)[:200]}") from error


def _line(text: str, position: int) -> int:
    return 1 + text.count("\n", 0, position)
