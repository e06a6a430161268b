"""Models behind OpenAI's Responses API, and services that speak it.

Source: platform.openai.com/docs/api-reference/responses and /responses-streaming: `output` items of the
types message, reasoning and function_call, parts of the types output_text and refusal, `status`,
`incomplete_details`, `usage`; events named response.….
"""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from chatbots.base import Context
from chatbots.errors import ServiceError
from chatbots.registry import register
from chatbots.replies import ReplyOutcome, Usage
from chatbots.services.bot import ServiceURL
from chatbots.services.chat import ChatServiceBot
from chatbots.services.chat_settings import ChatConfiguration, base_url_field
from chatbots.services.replies import ReplyReader, error_words
from chatbots.services.usage import TokenCounts, usage_or_none

REASONS = {"max_output_tokens": ReplyOutcome.CUT, "content_filter": ReplyOutcome.FILTERED}
LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})


@register("openai-responses")
class OpenAIResponsesBot(ChatServiceBot):
    """A model of OpenAI behind the Responses API, with summaries of its reasoning kept apart."""

    class Configuration(ChatConfiguration):
        """The model, and the settings of its requests."""

        ours = frozenset({"input", "instructions", "model", "stream", "temperature", "top_p"}) | frozenset(
            {"max_output_tokens", "reasoning", "store"}
        )
        base_url: ServiceURL = base_url_field("https://api.openai.com/v1")
        reasoning_effort: str | None = Field(
            None,
            pattern=r"^[a-z]{1,20}$",
            title="Reasoning effort",
            description="How long the model reasons before it replies; empty for the service's own.",
            examples=["low"],
        )
        reasoning_summary: str | None = Field(
            None,
            pattern=r"^[a-z]{1,20}$",
            title="Summary of reasoning",
            description="Ask for a summary of the reasoning, such as auto; empty for none.",
            examples=["auto"],
        )
        store: bool = Field(False, description="Whether the service may keep the response.")

    configuration: Configuration

    @property
    def url(self) -> str:
        """Address of the responses."""
        return f"{self.base_url}/responses"

    def reader(self) -> "ResponsesReader":
        """Create the reader of an answer."""
        return ResponsesReader(self.name, self.url)

    def content(self, context: Context, stream: object) -> dict[str, Any]:
        """Build the JSON of a request."""
        settings = self.configuration
        reasoning = {"effort": settings.reasoning_effort, "summary": settings.reasoning_summary}
        optional = {
            "instructions": self.system_prompt(context) or None,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_output_tokens": settings.most_tokens,
            "reasoning": {name: value for name, value in reasoning.items() if value} or None,
        }
        return {
            "model": settings.model,
            "input": self.messages(context),
            "store": settings.store,
            "stream": bool(stream),
            **{name: value for name, value in optional.items() if value is not None},
        }


class ResponsesReader(ReplyReader):
    """Reads a response, or the events of one, whose last holds the whole response once more."""

    text_place = "output"

    def read(self, event: Mapping[str, Any]) -> None:
        """Take in an event, or the whole response; events of other types are left out."""
        self.check_error(event)
        kind, draft = str(event.get("type", "")), self.draft()
        value = event.get("delta")
        delta = value if isinstance(value, str) else ""
        if event.get("object") == "response":
            self._end(event)
        elif kind in LAST_EVENTS:
            response = event.get("response")
            self._end(response if isinstance(response, Mapping) else {})
        elif kind == "error":
            raise ServiceError(f"{self.url} answered with an error: {error_words(event)}")
        elif self.is_final:
            return
        elif kind == "response.output_text.delta":
            draft.add_text(delta)
        elif kind == "response.refusal.delta":
            draft.add_refusal(delta)
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            draft.add_reasoning(delta)

    @property
    def usage(self) -> Usage | None:
        """The numbers of `usage`."""
        counts = TokenCounts(self._usage, self.remark)
        return usage_or_none(
            Usage(
                counts.number("input_tokens"),
                counts.number("output_tokens"),
                counts.number("output_tokens_details", "reasoning_tokens"),
                counts.number("input_tokens_details", "cached_tokens"),
            )
        )

    def _end(self, response: Mapping[str, Any]) -> None:
        """Take usage, outcome and tools from the whole response, and the text if it did not come before."""
        if self.is_final:
            self.remark("the service sent two final events; the first one counts")
            return
        if response.get("status") == "failed" or response.get("error"):
            raise ServiceError(f"{self.url} answered with an error: {error_words(response.get('error'))}")
        self.is_final = True
        self.model = str(response.get("model") or "")
        self._usage = response.get("usage")
        self._read_output(response.get("output"))
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, Mapping) else None
        if reason:
            self._end_incomplete(str(reason))
        self.draft().end(ReplyOutcome.COMPLETE)

    def _end_incomplete(self, reason: str) -> None:
        if reason not in REASONS:
            self.remark(f"the service ended the reply with '{reason[:40]}'")
        if reason == "content_filter":
            self.remark("a filter of the service withheld the reply or its rest")
        self.draft().end(REASONS.get(reason, ReplyOutcome.CUT))

    def _read_output(self, output: Any) -> None:
        draft = self.draft()
        is_new = not draft.has_text and not draft.has_refusal
        has_reasoning = bool(draft.reasoning)
        for number, item in enumerate(output if isinstance(output, list) else []):
            kind = item.get("type") if isinstance(item, Mapping) else None
            if kind == "message" and is_new:
                self._read_parts(item.get("content"))
            elif kind == "reasoning" and not has_reasoning:
                self._read_reasoning(item)
            elif kind not in ("message", "reasoning") and isinstance(item, Mapping):
                draft.add_tool(number, str(item.get("name") or kind))

    def _read_parts(self, parts: Any) -> None:
        draft = self.draft()
        for part in parts if isinstance(parts, list) else []:
            fields = part if isinstance(part, Mapping) else {}
            if isinstance(text := fields.get("text"), str):
                draft.add_text(text)
            elif isinstance(refusal := fields.get("refusal"), str):
                draft.add_refusal(refusal)
            else:
                draft.add_other(str(fields.get("type")))

    def _read_reasoning(self, item: Mapping[str, Any]) -> None:
        for name in ("summary", "content"):
            parts = item.get(name)
            for part in parts if isinstance(parts, list) else []:
                if isinstance(part, Mapping) and isinstance(text := part.get("text"), str):
                    self.draft().add_reasoning(text)
