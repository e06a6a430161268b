"""A study's conversations as training data: OpenAI messages, ShareGPT, and a Parquet data set with its card.

The importers read these files again. System messages and messages of tools are written as they were imported.
"""

import json
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from evaluation.texts.personal_data import Redactor
from turnwise.bots.models import OUTSIDE
from turnwise.exports.grouped_rows import grouped_rows
from turnwise.privacy.personal_data import redactor_for
from turnwise.studies.models import Study

_CHUNK = 65_536
PARQUET = "data/train-00000-of-00001.parquet"

# The seat of the chatbot is the assistant; of two chatbots the second, of two people the second.
_TURNS = """
SELECT d.id, coalesce(nullif(d.source_id, ''), d.public_id::text), d.language, d.origin,
       coalesce((SELECT max(number) FROM dialogues_seat WHERE dialogue_id = d.id AND bot_id IS NOT NULL), 1),
       (SELECT CASE b.adapter WHEN %(outside)s THEN b.title ELSE b.name END
          FROM dialogues_seat AS seat JOIN bots_bot AS b ON b.id = seat.bot_id
         WHERE seat.dialogue_id = d.id ORDER BY seat.number DESC LIMIT 1),
       (SELECT jsonb_agg(m.text ORDER BY m.number)::text
          FROM dialogues_material AS m JOIN dialogues_seat AS seat ON seat.id = m.seat_id
         WHERE seat.dialogue_id = d.id AND m.key ~ '^system(-[0-9]+)?$'),
       t.position, t.text, (t.generation->'tools')::text
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
 WHERE d.study_id = %(study)s AND d.ending = 'complete'
 ORDER BY d.id, t.position
"""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation.

    Attributes:
        role: “system”, “user”, “assistant” or “tool”.
        text: what it says; of a call of a tool its arguments.
        called: name of the tool that is called; empty if none is.
    """

    role: str
    text: str
    called: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    """A finished conversation.

    Attributes:
        id: what its file called it, else its public id.
        model: name of its chatbot; empty if two people talk.
        messages: oldest first.
    """

    id: str
    model: str
    language: str
    origin: str
    messages: list[Message] = field(default_factory=list)


def chats(study: Study) -> Iterator[Chat]:
    """Yield the finished conversations of a study, with personal data redacted."""
    redactor = redactor_for(study)
    for rows in grouped_rows("chat_formats", _TURNS, {"outside": OUTSIDE, "study": study.pk}):
        yield _chat(rows, redactor)


def _chat(rows: list[tuple[Any, ...]], redactor: Redactor) -> Chat:
    _, id_, language, origin, assistant, model, system, *_ = rows[0]
    chat = Chat(id_, model or "", language, origin)
    chat.messages.extend(Message("system", redactor(text)) for text in json.loads(system or "[]"))
    for *_, position, text, tools in rows:
        by_assistant = position % 2 == assistant
        chat.messages.extend(_tool_message(each, redactor) for each in json.loads(tools or "[]"))
        if text or not tools:
            chat.messages.append(Message("assistant" if by_assistant else "user", redactor(text)))
    return chat


def _tool_message(tool: Mapping[str, str], redactor: Redactor) -> Message:
    if "answer" in tool:
        return Message("tool", redactor(tool["answer"]))
    return Message("assistant", redactor(tool.get("arguments", "")), called=tool.get("name", "") or "tool")


def openai_lines(study: Study) -> Generator[str]:
    """Lines of OpenAI's messages: an object for each conversation."""
    for chat in chats(study):
        yield _line({"id": chat.id, "messages": openai_messages(chat), **_model(chat)})


def _model(chat: Chat) -> dict[str, str]:
    return {"model": chat.model} if chat.model and chat.model != "assistant" else {}


def openai_messages(chat: Chat) -> list[dict[str, Any]]:
    """Messages of a conversation in the form of OpenAI's chat completions."""
    written, calls, answered = list[dict[str, Any]](), 0, 0
    for message in chat.messages:
        if message.called:
            calls += 1
            function = {"name": message.called, "arguments": message.text}
            call = {"id": f"call_{calls}", "type": "function", "function": function}
            if written and written[-1].get("tool_calls"):
                written[-1]["tool_calls"].append(call)
            else:
                written.append({"role": "assistant", "content": None, "tool_calls": [call]})
        elif message.role == "tool":
            answered += 1
            written.append({"role": "tool", "tool_call_id": f"call_{answered}", "content": message.text})
        else:
            written.append({"role": message.role, "content": message.text})
    return written


_SHAREGPT = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}


def sharegpt_lines(study: Study) -> Generator[str]:
    """Lines of ShareGPT's conversations, with calls of tools as “function_call”."""
    for chat in chats(study):
        turns = [
            {"from": "function_call", "value": json.dumps({"name": each.called, "arguments": each.text})}
            if each.called
            else {"from": _SHAREGPT[each.role], "value": each.text}
            for each in chat.messages
        ]
        yield _line({"id": chat.id, "conversations": turns})


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def data_set(study: Study) -> Generator[bytes]:
    """A zip archive with a Parquet file and its card README.md, as a data set of the Hugging Face hub."""
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            with tempfile.TemporaryFile() as table:
                conversations = _write_parquet(study, table)
                table.seek(0)
                with archive.open(PARQUET, "w", force_zip64=True) as entry:
                    while chunk := table.read(_CHUNK):
                        entry.write(chunk)
            archive.writestr("README.md", card(study, conversations))
        file.seek(0)
        while chunk := file.read(_CHUNK):
            yield chunk


def _write_parquet(study: Study, file: Any) -> int:
    """Write the conversations as Parquet; returns their number."""
    import pyarrow  # starts a thread
    import pyarrow.parquet

    text = pyarrow.string()
    message = pyarrow.struct([("role", text), ("content", text), ("called", text)])
    schema = pyarrow.schema(
        [(name, text) for name in ("id", "model", "language", "origin")]
        + [("messages", pyarrow.list_(message))]
    )
    conversations = 0
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        found = chats(study)
        while batch := list(islice(found, 500)):
            rows = [
                {
                    "id": chat.id,
                    "model": chat.model,
                    "language": chat.language,
                    "origin": chat.origin,
                    "messages": [
                        {"role": each.role, "content": each.text, "called": each.called or None}
                        for each in chat.messages
                    ],
                }
                for chat in batch
            ]
            conversations += len(rows)
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
    return conversations


def card(study: Study, conversations: int) -> str:
    """Data card of a study's conversations: YAML for the hub, then text."""
    size = next((name for most, name in _SIZES if conversations < most), "n>1T")
    about = {
        "pretty_name": study.title,
        "language": list(study.languages),
        "size_categories": [size],
        "task_categories": ["text-generation"],
        "tags": ["conversational", "human-evaluation"],
        "configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/train-*"}]}],
    }
    # JSON is YAML, and quotes every value that needs it.
    head = "\n".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in about.items())
    return f"""---
{head}
---

# {study.title.replace(chr(10), " ")}

{conversations:,} finished conversations, exported from Turnwise. Each row has `id`, `model` (the chatbot),
`language`, `origin` (`live`, `imported` or `relayed`) and `messages`, a list of `role`, `content` and
`called`. Roles are `system`, `user`, `assistant` and `tool`; where a message calls a tool, `called` is its
name and `content` its arguments.

Before you publish it, add a license, say how the people who talk were recruited and what they agreed to, and
read the texts for personal data: automatic redaction finds patterns only.
"""


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
