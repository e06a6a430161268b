"""ParlAI's Conversations format (github.com/facebookresearch/ParlAI, parlai/utils/conversations.py).

{"dialog": [[{"id": "human", "text": "Hi!"}, {"id": "model", "text": "Hello."}], …], "context": […]}
"""

import re
from collections.abc import Iterator
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, Utterance, importer
from turnwise.transcripts.importers.json_lines import conversation, objects, parse_utterance

# ParlAI's placeholder for a model that speaks first; not an utterance.
SILENCE = "__SILENCE__"


def _looks_like(head: str) -> bool:
    return bool(re.match(r'\{.*"dialog"\s*:', head.split("\n", 1)[0]))


@importer("parlai", title="ParlAI conversations", looks_like=_looks_like)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per line. “context”, such as personas, is not part of it."""
    for found in objects(source):
        yield found if isinstance(found, Problem) else _conversation(*found)


def _conversation(line: int, value: dict[str, Any]) -> Conversation | Problem:
    pairs = value.get("dialog")
    if not isinstance(pairs, list) or not all(isinstance(pair, list) for pair in pairs):
        return Problem(line, "“dialog” is not a list of lists of turns.")
    turns = [parse_utterance(act, speaker="id", text="text", line=line) for pair in pairs for act in pair]
    spoken = [turn for turn in turns if not (isinstance(turn, Utterance) and turn.text == SILENCE)]
    return conversation(f"line {line}", line, spoken)
