"""A study's finished conversations as messages with roles.

System messages and messages of tools are given as they were imported.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evaluation.texts.personal_data import Redactor
from turnwise.bots.models import OUTSIDE
from turnwise.exports.rows import grouped_rows
from turnwise.privacy.personal_data import redactor_for
from turnwise.studies.models import Study

HELD = "d.study_id = %(study)s"
"""Condition of the conversations of a study `d`: those that it held or imported."""

# The seat of the chatbot is the assistant; of two chatbots the second, of two people the second. OFFSET 0 has
# seats and materials read once for each conversation. An import stores its own time where the file has none.
_TURNS = """
SELECT c.*, t.position, t.text, (t.generation->'tools')::text,
       CASE WHEN c.origin <> 'imported' OR t.created_at <> c.started_at
            THEN to_char(t.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') END
  FROM (SELECT d.id, coalesce(nullif(d.source_id, ''), d.public_id::text) AS name, d.language, d.origin,
               d.started_at, seats.assistant, seats.names::text AS names, seats.systems::text AS systems,
               (SELECT jsonb_agg(m.text ORDER BY m.number)::text
                  FROM dialogues_material AS m JOIN dialogues_seat AS seat ON seat.id = m.seat_id
                 WHERE seat.dialogue_id = d.id AND m.key ~ '^system(-[0-9]+)?$') AS system
          FROM dialogues_dialogue AS d
         CROSS JOIN LATERAL (
               SELECT coalesce(max(seat.number) FILTER (WHERE seat.bot_id IS NOT NULL), 1) AS assistant,
                      jsonb_agg(seat.name ORDER BY seat.number) AS names,
                      jsonb_agg(CASE b.adapter WHEN %(outside)s THEN b.title ELSE b.name END
                                ORDER BY seat.number) AS systems
                 FROM dialogues_seat AS seat LEFT JOIN bots_bot AS b ON b.id = seat.bot_id
                WHERE seat.dialogue_id = d.id) AS seats
         WHERE {which} AND d.ending = 'complete'
         ORDER BY d.id OFFSET 0) AS c
  JOIN dialogues_turn AS t ON t.dialogue_id = c.id
 ORDER BY c.id, t.position
"""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation.

    Attributes:
        role: “system”, “user”, “assistant” or “tool”.
        text: what it says; of a call of a tool its arguments.
        called: name of the tool that is called; empty if none is.
        at: when it was written, as ISO 8601 in UTC; empty if that is not known.
    """

    role: str
    text: str
    called: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    """A finished conversation.

    Attributes:
        key: primary key of the conversation.
        id: what its file called it, else its public id.
        model: name of its chatbot; empty if two people talk.
        user: name of the other speaker; “user” for a worker.
        messages: oldest first.
    """

    key: int
    id: str
    model: str
    user: str
    language: str
    origin: str
    messages: list[Message] = field(default_factory=list)


def chats(study: Study, which: str = HELD) -> Iterator[Chat]:
    """Yield finished conversations of a study, with personal data redacted.

    Args:
        study: whose redactions apply.
        which: SQL condition of the conversations `d`, with the parameter `study`.
    """
    redactor = redactor_for(study)
    values = {"outside": OUTSIDE, "study": study.pk}
    for rows in grouped_rows("chat_files", _TURNS.format(which=which), values):
        yield _chat(rows, redactor)


def _chat(rows: list[tuple[Any, ...]], redactor: Redactor) -> Chat:
    key, id_, language, origin, _, assistant, names, systems, system, *_ = rows[0]
    model, user = _speakers(assistant, json.loads(names), json.loads(systems))
    chat = Chat(key, id_, model, user, language, origin)
    chat.messages.extend(Message("system", redactor(text)) for text in json.loads(system or "[]"))
    for *_, position, text, tools, at in rows:
        by_assistant = position % 2 == assistant
        chat.messages.extend(_tool_message(each, redactor) for each in json.loads(tools or "[]"))
        if text or not tools:
            chat.messages.append(
                Message("assistant" if by_assistant else "user", redactor(text), at=at or "")
            )
    return chat


def _speakers(assistant: int, names: list[str], systems: list[str | None]) -> tuple[str, str]:
    """Names of the assistant ("" for a person) and of the other speaker."""
    model = next((system for system in reversed(systems) if system), "")
    user = systems[1 - assistant] or names[1 - assistant] or "user"
    return model, user


def _tool_message(tool: Mapping[str, str], redactor: Redactor) -> Message:
    if "answer" in tool:
        return Message("tool", redactor(tool["answer"]))
    return Message("assistant", redactor(tool.get("arguments", "")), called=tool.get("name", "") or "tool")
