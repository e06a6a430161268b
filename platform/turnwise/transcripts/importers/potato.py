"""Potato: instances whose text is a dialogue, as given to it or exported from it.

{"id": "1", "text": ["Human: Hi!", "Bot: Hello."]}
{"id": "1", "displayed_text": "Human: Hi!<br/>Bot: Hello.", "label_annotations": {…}}
"""

import html
import re
from collections.abc import Iterator
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, Utterance, importer
from turnwise.transcripts.importers.json_records import first_record, records
from turnwise.transcripts.importers.label_studio import SPEAKERS, TEXTS
from turnwise.transcripts.importers.transcript import turn_of

_BREAK = re.compile(r"<br\s*/?>|\n", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z][^<>]{0,200}>", re.IGNORECASE)
_ANNOTATED = {"displayed_text", "label_annotations", "span_annotations", "annotations"}


def _looks_like(head: str) -> bool:
    record = first_record(head)
    if "data" in record or not {"id", "instance_id"} & record.keys():
        return False
    text = _text_of(record)
    return bool({"displayed_text", "label_annotations"} & record.keys()) or (
        isinstance(text, list)
        and bool(text)
        and all(isinstance(each, str) and turn_of(each) for each in text)
    )


@importer(
    "potato",
    title="Potato instances with dialogues (JSON Lines, JSON array)",
    looks_like=_looks_like,
    keys=("id", "text", "displayed_text", "label_annotations"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per instance. Annotations are not imported.

    An instance that several annotators judged comes once.
    """
    seen = set[str]()
    for found in records(source):
        if isinstance(found, Problem):
            yield found
            continue
        line, record = found
        id_ = str(record.get("id", record.get("instance_id", f"line {line}")))[:200]
        if id_ in seen and _ANNOTATED & record.keys():
            continue
        seen.add(id_)
        yield _instance(id_, line, record)


def _text_of(record: dict[str, Any]) -> object:
    return next((record[key] for key in ("text", "dialogue", "displayed_text") if record.get(key)), None)


def _instance(id_: str, line: int, record: dict[str, Any]) -> Conversation | Problem:
    text = _text_of(record)
    parts = (
        [html.unescape(_TAG.sub("", each)) for each in _BREAK.split(text)] if isinstance(text, str) else text
    )
    if not isinstance(parts, list):
        return Problem(line, "The instance has no “text” or “dialogue” with the turns of a conversation.")
    turns = list[Utterance]()
    for part in parts:
        spoken = _spoken(part)
        if spoken:
            turns.append(Utterance(*spoken, line))
        elif isinstance(part, str) and not part.strip():
            continue
        elif isinstance(part, str) and turns:
            last = turns.pop()
            turns.append(Utterance(last.speaker, f"{last.text}\n{part.strip()}", line))
        else:
            return Problem(line, f"“{str(part)[:60]}” names no speaker, as in “Human: Hi!”.")
    return Conversation(id_, line, tuple(turns))


def _spoken(part: object) -> tuple[str, str] | None:
    """Speaker and text of “Human: Hi!”, or of an object with both."""
    if isinstance(part, str):
        return turn_of(part)
    if not isinstance(part, dict):
        return None
    found = [
        next((part[key] for key in keys if isinstance(part.get(key), str)), None)
        for keys in (SPEAKERS, TEXTS)
    ]
    return (found[0].strip(), found[1]) if found[0] and found[1] is not None else None
