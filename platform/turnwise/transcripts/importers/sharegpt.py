"""ShareGPT: conversations for training, with “from” and “value”.

{"id": "s1", "conversations": [{"from": "human", "value": "Hi!"}, {"from": "gpt", "value": "Hello."}]}
"""

from collections.abc import Iterator
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, importer
from turnwise.transcripts.importers.json_records import has_list, records
from turnwise.transcripts.importers.message_roles import of_messages


def _looks_like(head: str) -> bool:
    return has_list(head, "conversations", "from", "value") or has_list(
        head, "conversations", "role", "content"
    )


@importer(
    "sharegpt",
    title="ShareGPT conversations (JSON Lines, JSON array, Parquet)",
    looks_like=_looks_like,
    keys=("conversations", "from", "value"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per object; “human” and “gpt” are its speakers."""
    for found in records(source):
        yield found if isinstance(found, Problem) else _conversation(*found)


def _conversation(line: int, record: dict[str, Any]) -> Conversation | Problem:
    messages = record.get("conversations")
    first = messages[0] if isinstance(messages, list) and messages else None
    has_roles = isinstance(first, dict) and "from" not in first and "role" in first
    keys = ("role", "content") if has_roles else ("from", "value")
    id_ = record.get("id")
    return of_messages(
        f"line {line}" if id_ is None else str(id_),
        line,
        messages,
        names={} if has_roles else {"user": "human", "assistant": "gpt"},
        system=record.get("system"),
        role_key=keys[0],
        text_key=keys[1],
    )
