"""Messages with roles, as chat services and data sets for training have them, as utterances.

The rules for all such formats, described in docs/imports.md: system messages become material of the
assistant; tool messages and calls belong to the assistant's next reply; pictures and other parts that are no
text leave a remark; a role that is not known is a problem.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from turnwise.transcripts.importers.formats import Conversation, Problem, Utterance

ASSISTANT, USER = "assistant", "user"
ROLES = {
    **dict.fromkeys(
        (ASSISTANT, "bot", "gpt", "chatgpt", "model", "ai", "chatbot", "bing", "bard"), ASSISTANT
    ),
    **dict.fromkeys((USER, "human", "prompter", "person"), USER),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function", "observation", "function_response", "tool_response"), "tool"),
    **dict.fromkeys(("function_call", "tool_call"), "call"),
}
"""What the roles of known formats mean."""

_TEXTS = {"text", "input_text", "output_text"}
_PICTURES = {"image_url", "input_image", "image"}
_CALLS = {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call"}
_ANSWERS = {"tool_result", "web_search_tool_result", "mcp_tool_result"}


@dataclass(slots=True)
class _Parts:
    """Contents of a message by their kind."""

    texts: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    tools: list[dict[str, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    refused: bool = False

    def generation(self) -> dict[str, Any]:
        """Values of the turn's column `generation`, without absent ones."""
        called = [tool["name"] for tool in self.tools if "name" in tool]
        remarks = [*self.remarks, *([f"the model called tools: {', '.join(called)}"] if called else [])]
        has_text = any(text.strip() for text in self.texts)
        outcome = "refused" if self.refused else "tool_call" if called and not has_text else ""
        stored = {
            "outcome": outcome,
            "remarks": remarks,
            "reasoning": "\n\n".join(self.reasoning),
            "tools": self.tools,
        }
        return {key: value for key, value in stored.items() if value}


def of_messages(
    id_: str,
    line: int,
    messages: object,
    *,
    names: Mapping[str, str] | None = None,
    system: object = None,
    details: Mapping[str, str] | None = None,
    role_key: str = "role",
    text_key: str = "content",
) -> Conversation | Problem:
    """Build a conversation from a list of messages, or return the first problem among them.

    Args:
        id_: what the file calls it.
        line: where it begins.
        messages: the list, as parsed from JSON.
        names: speakers by role, such as a model's name for “assistant”; the role itself if not given.
        system: a system message beside the list, as text or parts; none if not given.
        details: what else the file says about the conversation.
        role_key: key of a message's role.
        text_key: key of a message's text.
    """
    if not isinstance(messages, list) or not messages:
        return Problem(line, "The list of messages is missing or empty. Give each conversation its messages.")
    given = [{role_key: "system", text_key: system}] if system else []
    turns = list[Utterance]()
    for number, message in enumerate([*given, *messages], start=1 - len(given)):
        found = _utterance(number, message, line, role_key, text_key, names or {})
        if isinstance(found, Problem):
            return found
        turns += found
    return Conversation(id_[:200], line, tuple(turns), details or {})


def _utterance(
    number: int, message: object, line: int, role_key: str, text_key: str, names: Mapping[str, str]
) -> Sequence[Utterance] | Problem:
    if not isinstance(message, dict):
        return Problem(line, f"Message {number} is not an object with “{role_key}” and “{text_key}”.")
    role = message.get(role_key)
    meaning = ROLES.get(role.casefold().strip()) if isinstance(role, str) else None
    if meaning is None:
        return Problem(
            line,
            f"Message {number}: {role_key} is {_short(role)}, which is not known. Write user, assistant, "
            "system or tool.",
        )
    parts = _Parts()
    if wrong := _read_content(parts, message.get(text_key)):
        return Problem(line, f"Message {number}: {wrong}")
    _read_other_keys(parts, message)
    called = message.get("called")
    if isinstance(called, str) and called:  # Turnwise's own data sets
        parts.tools.append({"name": called, "arguments": "\n".join(parts.texts)})
        parts.texts, meaning = [], ASSISTANT
    elif meaning == "call":
        parts.tools.append(_call_of("\n".join(parts.texts)))
        parts.texts, meaning = [], ASSISTANT
    return list(_utterances(parts, meaning, line, names, _time_of(message)))


def _utterances(
    parts: _Parts, meaning: str, line: int, names: Mapping[str, str], at: str
) -> Iterator[Utterance]:
    text = "\n\n".join(parts.texts) if len(parts.texts) > 1 else "".join(parts.texts)
    if meaning == "tool":
        answers = [tool["answer"] for tool in parts.tools if "answer" in tool] or [text]
        for answer in answers:
            yield Utterance("tool", answer, line, kind="tool")
        return
    if meaning == USER:  # Anthropic's results of tools stand in messages of the user
        answers = [tool["answer"] for tool in parts.tools if "answer" in tool]
        parts.tools = []
        yield from (Utterance("tool", answer, line, kind="tool") for answer in answers)
        if answers and not text.strip():
            return
    if meaning == "system":
        yield Utterance("system", text, line, kind="system")
        return
    yield Utterance(names.get(meaning, meaning), text, line, at=at, generation=parts.generation())


def _read_content(parts: _Parts, content: object) -> str:
    """Sort a message's content by its kind; returns why it cannot be read, or ""."""
    if content is None:
        return ""
    if isinstance(content, str):
        parts.texts.append(content)
        return ""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return f"its content is {_short(content)}. Give a text or a list of parts."
    for part in content:
        if isinstance(part, str):
            parts.texts.append(part)
        elif isinstance(part, dict):
            _read_part(parts, part)
        else:
            return f"a part of its content is {_short(part)}. Give objects with “type” and “text”."
    return ""


def _read_part(parts: _Parts, part: Mapping[str, Any]) -> None:
    kind = str(part.get("type", "text"))
    if kind in _TEXTS and isinstance(part.get("text"), str):
        parts.texts.append(part["text"])
    elif kind == "thinking" and isinstance(part.get("thinking"), str):
        parts.reasoning.append(part["thinking"])
    elif kind == "reasoning" and isinstance(part.get("reasoning"), str):
        parts.reasoning.append(part["reasoning"])
    elif kind == "refusal" and isinstance(part.get("refusal"), str):
        parts.texts.append(part["refusal"])
        parts.refused = True
    elif kind in _CALLS:
        parts.tools.append({"name": str(part.get("name", "")), "arguments": _as_text(part.get("input"))})
    elif kind in _ANSWERS:
        parts.tools.append({"answer": _text_of_parts(part.get("content"))})
    elif kind in _PICTURES:
        parts.remarks.append("a picture of the file is left out")
    elif kind == "redacted_thinking":
        parts.remarks.append("reasoning that the service encrypted is left out")
    else:
        parts.remarks.append(f"a part of the type “{kind[:40]}” is left out")


def _read_other_keys(parts: _Parts, message: Mapping[str, Any]) -> None:
    """Read the keys beside the content: calls of tools, refusals, reasoning."""
    calls = message.get("tool_calls")
    functions = [_function_of(call) for call in calls] if isinstance(calls, list) else []
    for function in [*functions, message.get("function_call")]:
        if isinstance(function, dict):
            parts.tools.append(
                {"name": str(function.get("name", "")), "arguments": _as_text(function.get("arguments"))}
            )
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        parts.texts.append(refusal)
        parts.refused = True
    for key in ("reasoning_content", "reasoning", "thinking"):
        if isinstance(reasoning := message.get(key), str) and reasoning:
            parts.reasoning.append(reasoning)
            break


def _function_of(call: object) -> object:
    """The called function: OpenAI's calls have it as an object, inspect_ai's are it."""
    if not isinstance(call, dict):
        return None
    function = call.get("function")
    return {"name": function, "arguments": call.get("arguments")} if isinstance(function, str) else function


def _text_of_parts(content: object) -> str:
    parts = _Parts()
    if _read_content(parts, content):
        return _as_text(content)
    return "\n\n".join(parts.texts)


def _call_of(text: str) -> dict[str, str]:
    """Name and arguments of a tool from ShareGPT's calls, which are JSON texts."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or "name" not in value:
        return {"name": "tool", "arguments": text}
    return {"name": str(value["name"])[:200], "arguments": _as_text(value.get("arguments"))}


def _time_of(message: Mapping[str, Any]) -> str:
    for key in ("timestamp", "created_at", "time"):
        if at := iso_time(message.get(key)):
            return at
    return ""


def iso_time(value: object) -> str:
    """A time as ISO 8601 with its offset, UTC where the file names none; "" if it cannot be read."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 10**11 else value, UTC).isoformat()
        if not isinstance(value, str) or not value.strip():
            return ""
        at = datetime.fromisoformat(value.strip())
    except (ValueError, OverflowError, OSError):
        return ""
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
