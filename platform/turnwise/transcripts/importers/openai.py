"""Messages of OpenAI's chat completions, as in files for fine-tuning and in logs.

{"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi!"}, …]}
"""

from collections.abc import Iterator
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Source, importer
from turnwise.transcripts.importers.json_records import first_record, has_list, records
from turnwise.transcripts.importers.message_roles import of_messages


def is_anthropic(record: dict[str, Any]) -> bool:
    """True if a record of messages has what only Anthropic's messages have."""
    messages = record.get("messages")
    parts = [
        part.get("type")
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict) and isinstance(message.get("content"), list)
        for part in message["content"]
        if isinstance(part, dict)
    ]
    return "system" in record or bool({"thinking", "redacted_thinking", "tool_use", "tool_result"} & {*parts})


def _looks_like(head: str) -> bool:
    return has_list(head, "messages", "role") and not is_anthropic(first_record(head))


@importer(
    "openai",
    title="OpenAI messages (JSON Lines, JSON array, Parquet)",
    looks_like=_looks_like,
    keys=("messages", "role", "content"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per object; “model” names the assistant."""
    for found in records(source):
        yield found if isinstance(found, Problem) else conversation_of(*found)


def conversation_of(line: int, record: dict[str, Any]) -> Conversation | Problem:
    """Conversation of an object with “messages”."""
    if "messages" not in record:
        named = ", ".join(f"“{key[:40]}”" for key in list(record)[:8]) or "none"
        return Problem(line, f"This object has no “messages”; its keys are {named}.")
    model = record.get("model")
    names = {"assistant": model[:120]} if isinstance(model, str) and model.strip() else {}
    id_ = next((record[key] for key in ("id", "conversation_id", "prompt_id") if record.get(key)), None)
    return of_messages(
        str(id_) if id_ is not None else f"line {line}",
        line,
        record["messages"],
        names=names,
        system=record.get("system"),
    )
