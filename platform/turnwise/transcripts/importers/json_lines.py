"""JSON Lines: an object for each conversation, or one for each turn.

{"id": "c1", "turns": [{"speaker": "Human", "text": "Hi!"}, {"speaker": "Bot", "text": "Hello."}]}
{"conversation": "c2", "speaker": "Human", "text": "Hi!"}
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from turnwise.contexts.tables import json_fault
from turnwise.transcripts.importers.formats import Conversation, Problem, Said, importer
from turnwise.transcripts.importers.source import Source


def objects(source: Source) -> Iterator[tuple[int, dict[str, Any]] | Problem]:
    """Each line's JSON object with the number of the line; empty lines are passed over."""
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Problem(number, f"This line is not JSON: {json_fault(error)}.")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            yield Problem(number, "This line is not a JSON object. Each line must be one, in braces.")


def said(value: object, *, speaker: str, text: str, line: int) -> Said | Problem:
    """An utterance from an object that has these two keys."""
    if not isinstance(value, dict):
        return Problem(line, f"A turn is not an object with “{speaker}” and “{text}”.")
    for key in (speaker, text):
        if not isinstance(value.get(key), str):
            return Problem(line, f"A turn has no text under “{key}”.")
    return Said(value[speaker], value[text].strip(), line)


def conversation(id_: str, line: int, turns: list[Said | Problem], **details: str) -> Conversation | Problem:
    """The conversation of these turns, or the first problem among them."""
    wrong = next((each for each in turns if isinstance(each, Problem)), None)
    return wrong or Conversation(id_, line, tuple(each for each in turns if isinstance(each, Said)), details)


def _looks_like(head: str) -> bool:
    return bool(re.match(r'\{.*"(turns|speaker)"\s*:', head.split("\n", 1)[0]))


@importer("jsonl", title="JSON Lines of turns", looks_like=_looks_like)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Conversations of either shape; turns of a conversation stand on lines that follow each other."""
    open_id, open_turns = "", list[Said | Problem]()
    for found in objects(source):
        if isinstance(found, Problem):
            yield found
            continue
        line, value = found
        id_ = str(value.get("conversation", ""))[:200]
        if open_turns and id_ != open_id:
            yield conversation(open_id, open_turns[0].line, open_turns)
            open_turns = []
        if "turns" in value:
            yield _whole(value, line)
        elif not id_:
            yield Problem(
                line, "This line has neither “turns” nor “conversation”, so it is not a turn of any."
            )
        else:
            open_id = id_
            open_turns.append(said(value, speaker="speaker", text="text", line=line))
    if open_turns:
        yield conversation(open_id, open_turns[0].line, open_turns)


def _whole(value: dict[str, Any], line: int) -> Conversation | Problem:
    turns = value["turns"]
    if not isinstance(turns, list):
        return Problem(line, "“turns” is not a list.")
    id_ = str(value.get("id", f"line {line}"))[:200]
    return conversation(id_, line, [said(each, speaker="speaker", text="text", line=line) for each in turns])
