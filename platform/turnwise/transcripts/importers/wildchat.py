"""WildChat: logs of conversations with services. Hashed addresses and headers of its people are not read.

{"conversation_hash": "a1", "model": "m", "conversation": [{"role": "user", "content": "Hi!"}, …]}
"""

from collections.abc import Iterator
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, importer
from turnwise.transcripts.importers.json_records import first_record, has_list, records
from turnwise.transcripts.importers.message_roles import of_messages

_DETAILS = ("model", "language")


def logged_conversation(line: int, record: dict[str, Any], id_key: str) -> Conversation | Problem:
    """Conversation of a log with the keys “conversation” and “model”."""
    model = record.get("model")
    names = {"assistant": model[:120]} if isinstance(model, str) and model.strip() else {}
    return of_messages(
        str(record.get(id_key) or f"line {line}"),
        line,
        record.get("conversation"),
        names=names,
        details={key: record[key][:100] for key in _DETAILS if isinstance(record.get(key), str)},
    )


def _looks_like(head: str) -> bool:
    return "conversation_hash" in first_record(head) and has_list(head, "conversation", "role")


@importer(
    "wildchat",
    title="WildChat logs (JSON Lines, Parquet)",
    looks_like=_looks_like,
    keys=("conversation_hash", "conversation", "role", "content", "model"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per object; its model is the speaker in the assistant's place."""
    for found in records(source):
        yield found if isinstance(found, Problem) else logged_conversation(*found, "conversation_hash")
