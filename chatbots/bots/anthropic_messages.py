"""Models behind the Messages API of Anthropic, and services that speak it.

Source: docs.anthropic.com/en/api/messages and /messages-streaming: content blocks, `stop_reason`, `usage`;
events message_start, content_block_start, content_block_delta, message_delta, message_stop and error.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from chatbots.base import Context
from chatbots.registry import register
from chatbots.replies import ReplyOutcome, Usage
from chatbots.services.bot import ServiceURL
from chatbots.services.chat import ChatServiceBot
from chatbots.services.chat_settings import (
    ChatConfiguration,
    base_url_field,
    key_header_field,
    key_prefix_field,
    stop_field,
)
from chatbots.services.replies import ReplyReader
from chatbots.services.usage import TokenCounts, total, usage_or_none

VERSION = "2023-06-01"
"""Version of the API that requests name."""

OUTCOMES = {
    **dict.fromkeys(("end_turn", "stop_sequence"), ReplyOutcome.COMPLETE),
    **dict.fromkeys(("max_tokens", "model_context_window_exceeded"), ReplyOutcome.CUT),
    "tool_use": ReplyOutcome.TOOL_CALL,
    "refusal": ReplyOutcome.REFUSED,
}
TOOL_BLOCKS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


@register("anthropic-messages")
class AnthropicMessagesBot(ChatServiceBot):
    """A model of Anthropic, or of any service with the same Messages API.

    An opening of the bot is not sent, because the service insists that the user begins.
    """

    class Configuration(ChatConfiguration):
        """The model, and the settings of its requests."""

        ours = frozenset(
            {"messages", "model", "stream", "system", "max_tokens", "temperature", "top_p"}
        ) | frozenset({"stop_sequences", "thinking"})
        base_url: ServiceURL = base_url_field("https://api.anthropic.com/v1")
        most_tokens: int = Field(
            4096,
            ge=1,
            title="Longest reply",
            description="Most tokens of a reply, those of its reasoning included.",
        )
        thinking_tokens: int | None = Field(
            None,
            ge=1024,
            title="Tokens of reasoning",
            description="Most tokens of reasoning before the reply, fewer than those of the reply; empty for "
            "no reasoning.",
        )
        stop: tuple[str, ...] = stop_field()
        key_header: str = key_header_field("x-api-key")
        key_prefix: str = key_prefix_field("")

    configuration: Configuration

    @property
    def url(self) -> str:
        """Address of the messages."""
        return f"{self.base_url}/messages"

    @property
    def must_alternate(self) -> bool:
        """True."""
        return True

    def service_headers(self) -> Mapping[str, str]:
        """Return the version of the API."""
        return {"anthropic-version": VERSION}

    def reader(self) -> "MessageReader":
        """Create the reader of an answer."""
        return MessageReader(self.name, self.url)

    def content(self, context: Context, stream: object) -> dict[str, Any]:
        """Build the JSON of a request."""
        settings = self.configuration
        thinking = {"type": "enabled", "budget_tokens": settings.thinking_tokens}
        optional = {
            "system": self.system_prompt(context) or None,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "stop_sequences": list(settings.stop) or None,
            "thinking": thinking if settings.thinking_tokens else None,
        }
        return {
            "model": settings.model,
            "max_tokens": settings.most_tokens,
            "messages": self.messages(context),
            "stream": bool(stream),
            **{name: value for name, value in optional.items() if value is not None},
        }


class MessageReader(ReplyReader):
    """Reads a message, or the events of one."""

    text_place = "content"

    def __init__(self, name: str, url: str) -> None:
        """Start before the first event."""
        super().__init__(name, url)
        self._usage: dict[str, Any] = {}

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in an event, or the whole message; events of other types are left out."""
        self.check_error(event)
        match event.get("type"):
            case "message":
                self._begin(event)
                for number, block in enumerate(_list(event.get("content"))):
                    self._read_block(number, block)
                self._end(event)
                self.is_final = True
            case "message_start":
                self._begin(_object(event.get("message")))
            case "content_block_start":
                self._read_block(event.get("index"), _object(event.get("content_block")))
            case "content_block_delta":
                self._read_delta(_object(event.get("delta")))
            case "message_delta":
                self._usage |= _object(event.get("usage"))
                self._end(_object(event.get("delta")))
            case "message_stop":
                self.is_final = True

    @property
    def usage(self) -> Usage | None:
        """The numbers of `usage`; tokens in the service's cache belong to the prompt."""
        counts = TokenCounts(self._usage, self.remark)
        cached = counts.number("cache_read_input_tokens")
        written = counts.number("cache_creation_input_tokens")
        return usage_or_none(
            Usage(
                total(counts.number("input_tokens"), cached, written),
                counts.number("output_tokens"),
                cached=cached,
            )
        )

    def _begin(self, message: Mapping[str, Any]) -> None:
        self.model = str(message.get("model") or "")
        self._usage |= _object(message.get("usage"))

    def _read_block(self, number: Any, block: Any) -> None:
        kind = str(_object(block).get("type"))
        if kind in ("text", "thinking"):
            self._read_delta(block)
        elif kind in TOOL_BLOCKS:
            self.draft().add_tool(number, str(block.get("name", "")))
        elif kind != "redacted_thinking":
            self.draft().add_other(kind)

    def _read_delta(self, delta: Mapping[str, Any]) -> None:
        if isinstance(text := delta.get("text"), str):
            self.draft().add_text(text)
        if isinstance(thinking := delta.get("thinking"), str):
            self.draft().add_reasoning(thinking)

    def _end(self, fields: Mapping[str, Any]) -> None:
        reason = fields.get("stop_reason")
        if not reason:
            return
        draft = self.draft()
        if draft.outcome is not None:
            self.remark("the service sent two final events; the first one counts")
        elif reason not in OUTCOMES:
            self.remark(f"the service ended the reply with '{str(reason)[:40]}'")
        draft.end(OUTCOMES.get(str(reason), ReplyOutcome.COMPLETE))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
