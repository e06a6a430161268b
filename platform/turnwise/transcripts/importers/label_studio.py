"""Label Studio: tasks with a dialogue, as imported into it or exported from it (JSON, JSON-MIN).

[{"id": 1, "data": {"dialogue": [{"author": "Human", "text": "Hi!"}, …]}, "annotations": […]}]
"""

from collections.abc import Iterator
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, Utterance, importer
from turnwise.transcripts.importers.json_records import first_record, records

SPEAKERS = ("author", "speaker", "role", "name", "from")
TEXTS = ("text", "content", "message", "value", "body")
_EXPORTED = {"annotations", "predictions", "annotator", "annotation_id", "lead_time", "total_annotations"}


def list_of_turns(fields: dict[str, Any]) -> tuple[str, list[dict[str, Any]]] | None:
    """Key and value of the first list of objects that have a speaker and a text."""
    for key, value in fields.items():
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, dict) and _key(first, SPEAKERS) and _key(first, TEXTS):
            return key, value
    return None


def _key(turn: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((name for name in names if isinstance(turn.get(name), str)), "")


def _looks_like(head: str) -> bool:
    record = first_record(head)
    if "data" in record:
        data = record["data"]
        return (data is None and bool(_EXPORTED & record.keys())) or (
            isinstance(data, dict) and list_of_turns(data) is not None
        )
    return bool({"annotator", "annotation_id", "lead_time"} & record.keys()) and bool(list_of_turns(record))


@importer(
    "label-studio",
    title="Label Studio tasks with dialogues (JSON, JSON-MIN)",
    looks_like=_looks_like,
    keys=("data", "annotations", "author", "text", "predictions"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per task. Annotations are counted, not imported."""
    for found in records(source):
        yield found if isinstance(found, Problem) else _task(*found)


def _task(line: int, record: dict[str, Any]) -> Conversation | Problem:
    data = record.get("data")
    fields = data if isinstance(data, dict) else record
    found = list_of_turns(fields)
    if found is None:
        named = ", ".join(f"“{str(key)[:40]}”" for key in list(fields)[:8]) or "nothing"
        return Problem(line, f"The task has no list of turns with “author” and “text”; its data are {named}.")
    turns = list[Utterance]()
    for number, turn in enumerate(found[1], start=1):
        speaker, text = (
            (_key(turn, names) for names in (SPEAKERS, TEXTS)) if isinstance(turn, dict) else ("", "")
        )
        if not speaker or not text:
            return Problem(line, f"Turn {number} of “{found[0][:40]}” has no “author” or no “text”.")
        turns.append(Utterance(turn[speaker].strip(), turn[text], line))
    annotations = record.get("annotations")
    details = {"annotations": str(len(annotations))} if isinstance(annotations, list) and annotations else {}
    return Conversation(str(record.get("id", f"line {line}"))[:200], line, tuple(turns), details)
