"""A context as the messages of instruction models: roles system, user and assistant."""

from collections.abc import Iterable, Sequence
from typing import TypedDict

from chatbots.base import Context, Speaker, Turn


class Message(TypedDict):
    """One message, as chat completions and chat templates take it."""

    role: str
    content: str


def messages_of(turns: Sequence[Turn], system: str = "") -> list[Message]:
    """The turns as they are: the bot is the assistant, its partner the user; the system prompt first."""
    return _with_system(system, map(_message, turns))


def alternating_messages_of(turns: Sequence[Turn], system: str = "") -> list[Message]:
    """The same for models that insist on user and assistant in turns, the user first.

    An opening of the bot is left out, turns of one speaker in a row become one of several lines. Where the
    bot alone has spoken, its last turn counts as its partner's.
    """
    messages: list[Message] = []
    for turn in turns:
        message = _message(turn)
        if messages and messages[-1]["role"] == message["role"]:
            messages[-1]["content"] += f"\n{message['content']}"
        elif messages or turn.speaker is Speaker.HUMAN:
            messages.append(message)
    if not messages:
        messages.append({"role": "user", "content": turns[-1].text})
    return _with_system(system, messages)


def newest_turns(context: Context, most: int | None) -> tuple[Turn, ...]:
    """The last `most` turns, at least one; all of them if `most` is None."""
    return context.turns if most is None else context.turns[-most:]


def _message(turn: Turn) -> Message:
    return {"role": "user" if turn.speaker is Speaker.HUMAN else "assistant", "content": turn.text}


def _with_system(system: str, messages: Iterable[Message]) -> list[Message]:
    return [*([Message(role="system", content=system)] if system else []), *messages]
