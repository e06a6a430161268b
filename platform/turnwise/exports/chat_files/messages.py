"""A study's conversations as OpenAI messages and as ShareGPT, one line of JSON each."""

import json
from collections.abc import Generator, Mapping
from typing import Any

from turnwise.exports.chat_files.chats import Chat, chats
from turnwise.studies.models import Study


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
